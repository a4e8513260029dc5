#include "compare/ab/canary.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "lib/core/canary.hpp"
#include "lib/core/statistics.hpp"

namespace plimsoll::compare {

double median_ns(std::span<const std::chrono::nanoseconds> readings) {
  if (readings.empty()) return 0;
  std::vector<double> values;
  for (const auto reading : readings) values.push_back(static_cast<double>(reading.count()));
  return median(std::move(values));
}

bool disturbed(std::span<const std::chrono::nanoseconds> readings) {
  const double middle = median_ns(readings);
  const auto off = [&](std::chrono::nanoseconds reading) {
    return std::abs(static_cast<double>(reading.count()) / middle - 1) > kCanaryOff;
  };
  return std::count_if(readings.begin(), readings.end(), off) >= 2;
}

}  // namespace plimsoll::compare
