#pragma once

#include <chrono>
#include <span>

namespace plimsoll::compare {

/// One reading of the canary: the CPU time of a fixed amount of sorting and formatting, about 10
/// ms. It keeps the execution units busy, as a chain of dependent operations would not: a neighbour
/// on the sibling hardware thread slows exactly such code, 1.3 to 2.1 times, and shows in no figure
/// that the kernel keeps. It calls no code that is under test and allocates nothing while it is
/// timed.
///
/// Thread safety: one caller at a time. Errors: none.
[[nodiscard]] std::chrono::nanoseconds read_canary();

/// A reading counts as off when it is this much slower or faster than its neighbours.
constexpr double kCanaryOff = 0.15;

/// The middle one; 0 without readings.
[[nodiscard]] double median_ns(std::span<const std::chrono::nanoseconds> readings);

/// Whether the machine changed during a stretch with these readings: two of them are off the
/// stretch's median. A single odd one is a blip of some milliseconds between two samples. How fast
/// the machine was all the while does not matter: both sides ran on it (docs/adr/0007).
[[nodiscard]] bool disturbed(std::span<const std::chrono::nanoseconds> readings);

}  // namespace plimsoll::compare
