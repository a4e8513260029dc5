#include "lib/load/resources.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace plimsoll::load {

LeakVerdict judge_leak(const Series& series, double limit) noexcept {
  if (!series.slope) return LeakVerdict::kTooShort;
  return series.slope->high <= limit ? LeakVerdict::kClean : LeakVerdict::kLeaking;
}

void SeriesRecorder::add(double seconds, double value) {
  assert(std::isfinite(seconds) && std::isfinite(value));
  if (samples_ == 0) first_ = max_ = value;
  ++samples_;
  last_ = value;
  max_ = std::max(max_, value);
  if (pending_ > 0 && pending_ < stride_) {
    ++pending_;
    if (value < y_.back()) {
      x_.back() = seconds;
      y_.back() = value;
    }
    return;
  }
  if (x_.size() == kPoints) halve();
  x_.push_back(seconds);
  y_.push_back(value);
  pending_ = 1;
}

void SeriesRecorder::halve() {
  for (std::size_t i = 0; i < kPoints / 2; ++i) {
    const std::size_t lower = y_[2 * i + 1] < y_[2 * i] ? 2 * i + 1 : 2 * i;
    x_[i] = x_[lower];
    y_[i] = y_[lower];
  }
  x_.resize(kPoints / 2);
  y_.resize(kPoints / 2);
  stride_ *= 2;
}

Series SeriesRecorder::summarize(std::string_view unit) const {
  Series series{unit, samples_, first_, last_, max_, {}};
  if (x_.size() < 4) return series;
  const Minima floor = windowed_minima(x_, y_, kWindows);
  if (floor.x.size() < 4) return series;
  const Slope slope = theil_sen(floor.x, floor.y);
  if (std::isfinite(slope.low) && std::isfinite(slope.high)) series.slope = slope;
  return series;
}

}  // namespace plimsoll::load
