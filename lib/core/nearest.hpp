#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

/// The candidate that `word` was most likely meant to be: the one with the fewest insertions,
/// deletions, replacements and swaps of neighbours, upper and lower case being equal. A candidate
/// that begins with `word` counts as one edit away. Of equals the first wins.
///
/// nullopt only when there are no candidates: a message about an unknown word always names one.
/// Cost: O(|word| * |candidate|) each.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 std::span<const std::string> candidates);

}  // namespace plimsoll
