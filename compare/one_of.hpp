#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "lib/core/nearest.hpp"

namespace plimsoll::compare {

/// For an option that takes one of these words; another is refused with the nearest.
[[nodiscard]] inline CLI::Validator one_of(std::vector<std::string> words) {
  const std::string shown = fmt::format("{{{}}}", fmt::join(words, ","));
  return {[words = std::move(words)](const std::string& word) {
            if (std::ranges::find(words, word) != words.end()) return std::string();
            return fmt::format("unknown value '{}'; nearest: {}", word,
                               nearest(word, words).value_or(""));
          },
          shown};
}

}  // namespace plimsoll::compare
