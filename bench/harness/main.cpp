#include <cstdio>
#include <exception>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/harness/run.hpp"

namespace {

int unexpected(const char* what) {
  const std::string group(plimsoll::bench::kGroup);
  std::fprintf(stderr, "bench_%s: ended by an exception: %s\n", group.c_str(), what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace plimsoll::bench;
  try {
    return run(argc, argv, kGroup, register_cases);
  } catch (const std::exception& error) {
    return unexpected(error.what());
  } catch (...) {
    return unexpected("not a std::exception");
  }
}
