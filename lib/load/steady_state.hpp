#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "lib/core/clock.hpp"

namespace plimsoll::load {

/// Tells when a warm-up is over: the throughput of the last few intervals neither trends nor
/// scatters.
///
/// As in fio's steady-state test, over the last `kIntervals` intervals: no interval differs from
/// their mean by more than `kDeviation`, and the least-squares line rises or falls by no more than
/// `kSlope` of the mean from the first to the last. Both limits are widened by what counting alone
/// makes: 3 standard deviations of a Poisson count. Fewer than one operation an interval tells
/// nothing.
///
/// Pure: it knows no clock. Thread safety: none.
class SteadyState {
 public:
  static constexpr std::size_t kIntervals = 5;
  static constexpr double kDeviation = 0.25;
  static constexpr double kSlope = 0.15;

  /// An interval in which `operations` ended. REQUIRES: length > 0.
  void add(std::uint64_t operations, Nanoseconds length);

  [[nodiscard]] bool reached() const;

  /// What the test last saw, for people.
  [[nodiscard]] std::string describe() const;

 private:
  struct Shape {
    double mean = 0;       // Operations per second.
    double deviation = 0;  // The largest, relative to the mean.
    double slope = 0;      // Over all intervals, relative to the mean.
    double noise = 0;      // What counting alone explains.
  };
  struct Interval {
    double operations;
    double seconds;
  };
  [[nodiscard]] Shape shape() const;

  std::deque<Interval> intervals_;
};

}  // namespace plimsoll::load
