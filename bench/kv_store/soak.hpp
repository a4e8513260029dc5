#pragma once

#include "lib/load/resources.hpp"

namespace plimsoll::bench {

/// What memory may grow by at most, in bytes a second: 1 MB a minute.
inline constexpr double kMostGrowth = 1e6 / 60;

/// Judges a process' memory by the upper end of its slope's 95 % interval. What is too short to
/// judge has not passed.
[[nodiscard]] inline bool is_leaking(const load::Series& memory) noexcept {
  return load::judge_leak(memory, kMostGrowth) != load::LeakVerdict::kClean;
}

}  // namespace plimsoll::bench
