#pragma once

#include <chrono>
#include <string_view>

namespace plimsoll {

/// One reading of the canary: the CPU time of a fixed amount of sorting and formatting, about 10
/// ms. It keeps the execution units busy, as a chain of dependent operations would not: a neighbour
/// on the sibling hardware thread slows exactly such code, 1.3 to 2.1 times, and shows in no figure
/// that the kernel keeps. It calls no code that is under test and allocates nothing while it is
/// timed.
///
/// Thread safety: one caller at a time. Errors: none.
[[nodiscard]] std::chrono::nanoseconds read_canary();

/// Two readings that differ by more than this, relative to one of them, are of a machine that ran
/// at two speeds.
constexpr double kCanaryOff = 0.15;

/// The metric under which a result holds the reading beside a measurement.
constexpr std::string_view kCanaryMetric = "canary_ns";

}  // namespace plimsoll
