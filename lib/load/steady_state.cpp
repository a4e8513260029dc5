#include "lib/load/steady_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "lib/core/units.hpp"

namespace plimsoll::load {

void SteadyState::add(std::uint64_t operations, Nanoseconds length) {
  assert(length.count() > 0);
  intervals_.push_back(
      {static_cast<double>(operations), std::chrono::duration<double>(length).count()});
  if (intervals_.size() > kIntervals) intervals_.pop_front();
}

SteadyState::Shape SteadyState::shape() const {
  Shape shape;
  double operations = 0;
  double seconds = 0;
  for (const auto& interval : intervals_) {
    operations += interval.operations;
    seconds += interval.seconds;
  }
  if (operations <= 0) return shape;
  shape.mean = operations / seconds;
  const auto n = static_cast<double>(intervals_.size());
  shape.noise = 3 / std::sqrt(operations / n);
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    const double rate = intervals_[i].operations / intervals_[i].seconds;
    shape.deviation = std::max(shape.deviation, std::abs(rate / shape.mean - 1));
    const double x = static_cast<double>(i) - (n - 1) / 2;
    covariance += x * (rate / shape.mean - 1);
    variance += x * x;
  }
  if (variance > 0) shape.slope = covariance / variance * (n - 1);
  return shape;
}

bool SteadyState::reached() const {
  if (intervals_.size() < kIntervals) return false;
  const Shape now = shape();
  if (now.mean <= 0 || now.noise > 3) return false;  // Under one operation an interval.
  return now.deviation <= kDeviation + now.noise && std::abs(now.slope) <= kSlope + now.noise;
}

std::string SteadyState::describe() const {
  if (intervals_.size() < kIntervals) {
    return fmt::format("{} of the {} intervals it takes", intervals_.size(), kIntervals);
  }
  const Shape now = shape();
  if (now.mean <= 0) return "nothing ended in the last intervals";
  return fmt::format(
      "{} per second, off by up to {:.0f} %, trend {:+.0f} %, counting explains {:.0f} %",
      format_count(now.mean), 100 * now.deviation, 100 * now.slope, 100 * now.noise);
}

}  // namespace plimsoll::load
