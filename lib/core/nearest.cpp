#include "lib/core/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace plimsoll {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

/// Optimal string alignment: Levenshtein's distance in which a swap of neighbours is one edit.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string wanted = lower(word);
  std::optional<std::string> best;
  std::size_t best_edits = 0;
  for (const std::string& candidate : candidates) {
    const std::string offered = lower(candidate);
    std::size_t edits = distance(wanted, offered);
    if (edits > 1 && !wanted.empty() && offered.starts_with(wanted)) edits = 1;
    if (!best || edits < best_edits) {
      best = candidate;
      best_edits = edits;
    }
  }
  return best;
}

}  // namespace plimsoll
