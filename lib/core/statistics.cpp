#include "lib/core/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace plimsoll {
namespace {

constexpr double kNormal975 = 1.959963984540054;  // The 97.5 % quantile of the standard normal.

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

}  // namespace

double quantile(std::span<const double> values, double q) {
  assert(!values.empty() && q >= 0 && q <= 1);
  const auto ordered = sorted(values);
  const double position = q * static_cast<double>(ordered.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, ordered.size() - 1);
  return std::lerp(ordered[below], ordered[above], position - static_cast<double>(below));
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double robust_deviation(std::span<const double> values) {
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return 1.4826 * median(distances);
}

Slope theil_sen(std::span<const double> x, std::span<const double> y) {
  assert(x.size() == y.size() && x.size() >= 2);
  std::vector<double> slopes;
  slopes.reserve(x.size() * (x.size() - 1) / 2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
  }
  std::sort(slopes.begin(), slopes.end());

  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Slope slope{median(slopes), -kInfinity, kInfinity};
  const auto n = static_cast<double>(x.size());
  if (x.size() < 4) return slope;
  const auto pairs = static_cast<double>(slopes.size());
  const double spread = kNormal975 * std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  const double low_rank = std::floor((pairs - spread) / 2);
  const double high_rank = std::ceil((pairs + spread) / 2);
  if (low_rank >= 0) slope.low = slopes[static_cast<std::size_t>(low_rank)];
  if (high_rank < pairs) slope.high = slopes[static_cast<std::size_t>(high_rank)];
  return slope;
}

Minima windowed_minima(std::span<const double> x, std::span<const double> y, std::size_t windows) {
  assert(x.size() == y.size() && windows > 0);
  Minima minima;
  if (x.empty()) return minima;
  const double width = (x.back() - x.front()) / static_cast<double>(windows);
  std::size_t current = windows;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto raw = width > 0 ? static_cast<std::size_t>((x[i] - x.front()) / width) : 0;
    const std::size_t window = std::min(raw, windows - 1);
    if (window != current) {
      minima.x.push_back(x[i]);
      minima.y.push_back(y[i]);
      current = window;
    } else if (y[i] < minima.y.back()) {
      minima.x.back() = x[i];
      minima.y.back() = y[i];
    }
  }
  return minima;
}

}  // namespace plimsoll
