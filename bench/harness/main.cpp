#include "bench/harness/case.hpp"
#include "bench/harness/run.hpp"

int main(int argc, char** argv) {
  return plimsoll::bench::run(argc, argv, plimsoll::bench::kGroup, plimsoll::bench::register_cases);
}
