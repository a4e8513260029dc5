#pragma once

#include <cstddef>
#include <span>

#include "lib/core/clock.hpp"

namespace plimsoll::bench {

/// Ends in the last third of the window over those in the first; 0 when the first third had none.
/// The window is the stretch of that length up to the last end, which comes as the window closes,
/// or one operation later: ends before it are of the warm-up and do not count.
///
/// REQUIRES: `ended` in order.
[[nodiscard]] inline double rate_kept(std::span<const TimePoint> ended, Nanoseconds window) {
  if (ended.empty()) return 0;
  const TimePoint begin = ended.back() - window;
  std::size_t first = 0;
  std::size_t last = 0;
  for (const TimePoint end : ended) {
    first += end > begin && end <= begin + window / 3 ? 1 : 0;
    last += end > ended.back() - window / 3 ? 1 : 0;
  }
  return first == 0 ? 0 : static_cast<double>(last) / static_cast<double>(first);
}

}  // namespace plimsoll::bench
