#pragma once

#include <chrono>
#include <span>

namespace plimsoll::compare {

/// The middle one; 0 without readings.
[[nodiscard]] double median_ns(std::span<const std::chrono::nanoseconds> readings);

/// Whether the machine changed during a stretch with these readings of the canary: two of them are
/// off the stretch's median by more than kCanaryOff. A single odd one is a blip of some
/// milliseconds between two samples. How fast the machine was all the while does not matter: both
/// sides ran on it (docs/adr/0007).
[[nodiscard]] bool disturbed(std::span<const std::chrono::nanoseconds> readings);

}  // namespace plimsoll::compare
