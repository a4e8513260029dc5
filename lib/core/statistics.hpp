#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plimsoll {

/// The middle value; the mean of the two middle ones for an even count. REQUIRES: not empty, every
/// value finite.
[[nodiscard]] double median(std::span<const double> values);

/// The quantile q in [0, 1] with linear interpolation between order statistics (Hyndman and Fan
/// 1996, type 7). REQUIRES: not empty, every value finite.
[[nodiscard]] double quantile(std::span<const double> values, double q);

/// 1.4826 times the median absolute deviation from the median: estimates the standard deviation of
/// normal data and ignores outliers up to half of the sample. REQUIRES: not empty.
[[nodiscard]] double robust_deviation(std::span<const double> values);

/// A slope with its two-sided 95 % confidence interval, in y units per x unit.
struct Slope {
  double value;
  double low;
  double high;
};

/// Theil–Sen slope: the median of all pairwise slopes. The interval is Sen's (1968), from the
/// variance of Kendall's S without ties; below 4 points it is (-inf, +inf), since no rank test can
/// then bound it.
///
/// O(n^2) time and memory. REQUIRES: equal lengths, at least 2 points, strictly increasing x.
[[nodiscard]] Slope theil_sen(std::span<const double> x, std::span<const double> y);

/// A series cut into `windows` equal stretches of x, each reduced to its smallest y. Allocators
/// make memory a sawtooth; its floor is what leaks.
struct Minima {
  std::vector<double> x;
  std::vector<double> y;
};
[[nodiscard]] Minima windowed_minima(std::span<const double> x, std::span<const double> y,
                                     std::size_t windows);

}  // namespace plimsoll
