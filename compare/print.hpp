#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll::compare {

/// Prints to standard output. False where it cannot be written (closed, a full disk).
[[nodiscard]] inline bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

/// Prints to standard error. One that cannot be written loses the text and nothing else:
/// fmt::print would throw, and the exit code is what a script reads.
template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace plimsoll::compare
