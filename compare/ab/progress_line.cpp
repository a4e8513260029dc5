#include "compare/ab/progress_line.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "compare/print.hpp"

namespace plimsoll::compare {

void ProgressLine::show(const AbProgress& progress) {
  if (::isatty(STDERR_FILENO) == 0) return;
  const auto left = std::chrono::ceil<std::chrono::seconds>(progress.left).count();
  print_error("\r\033[K{}[{}/{}] {}: {} of {} pairs, {}:{:02} left", lead_, progress.number,
              progress.benchmarks, progress.benchmark, progress.pairs, progress.pairs_wanted,
              left / 60, left % 60);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::say(const std::string& line) {
  clear();
  print_error("{}\n", line);
}

void ProgressLine::clear() {
  if (shown_) print_error("\r\033[K");
  shown_ = false;
}

}  // namespace plimsoll::compare
