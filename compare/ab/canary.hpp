#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace plimsoll::compare {

/// One reading of the canary: the CPU time of a fixed amount of sorting and formatting, about 10
/// ms. It keeps the execution units busy, as a chain of dependent operations would not: a neighbour
/// on the sibling hardware thread slows exactly such code, 1.3 to 2.1 times, and shows in no figure
/// that the kernel keeps. It calls no code that is under test and allocates nothing while it is
/// timed.
///
/// Thread safety: one caller at a time. Errors: none.
[[nodiscard]] std::chrono::nanoseconds read_canary();

/// Every reading of one A/B, and what they say about a stretch of it. Pure.
class CanaryLog {
 public:
  /// A reading counts as off when it is this much slower or faster than calm.
  static constexpr double kOff = 0.15;

  /// O(n log n).
  void add(std::chrono::nanoseconds reading);

  /// The level of an undisturbed machine: the median of those readings that lie within kOff of the
  /// lowest tenth. One calm reading in ten is enough to find it, and a rare lucky one does not move
  /// it. 0 without readings.
  [[nodiscard]] double calm_ns() const noexcept { return calm_ns_; }

  /// The reading relative to calm, 1.0 being calm.
  [[nodiscard]] double relative(std::chrono::nanoseconds reading) const;
  [[nodiscard]] bool off(std::chrono::nanoseconds reading) const;

  /// Whether a stretch with these readings was disturbed: two of them off, or its only one. A
  /// single odd reading of several is a blip of some milliseconds between two samples.
  [[nodiscard]] bool disturbed(std::span<const std::chrono::nanoseconds> readings) const;

  [[nodiscard]] std::size_t size() const noexcept { return readings_.size(); }

 private:
  std::vector<double> readings_;
  double calm_ns_ = 0;  // Kept by `add`; asked for far more often.
};

}  // namespace plimsoll::compare
