#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace plimsoll::compare {

/// Prints to standard error. One that cannot be written (closed, a full disk) loses the text and
/// nothing else: fmt::print would throw, and the exit code is what a script reads.
template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace plimsoll::compare
