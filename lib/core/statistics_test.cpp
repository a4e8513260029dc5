#include "lib/core/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lib/core/rng.hpp"

namespace plimsoll {
namespace {

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
}

TEST(Statistics, QuantileInterpolatesAsTypeSeven) {
  const std::vector values{1.0, 2.0, 3.0, 4.0};
  EXPECT_DOUBLE_EQ(quantile(values, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(values, 1.0), 4.0);
}

TEST(Statistics, RobustDeviationIgnoresAnOutlier) {
  EXPECT_DOUBLE_EQ(robust_deviation(std::vector{1.0, 2.0, 3.0, 4.0, 1e9}), 1.4826);
}

TEST(Statistics, TheilSenFindsTheSlopeThroughOutliers) {
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(i);
    y.push_back(2.0 * i + (i == 20 ? 1000.0 : 0.0));
  }
  const Slope slope = theil_sen(x, y);
  EXPECT_DOUBLE_EQ(slope.value, 2.0);
  EXPECT_LE(slope.low, 2.0);
  EXPECT_GE(slope.high, 2.0);
}

TEST(Statistics, TheilSenIntervalCoversZeroForNoiseInAboutNineteenOfTwenty) {
  Rng rng(11);
  int covered = 0;
  for (int run = 0; run < 400; ++run) {
    std::vector<double> x;
    std::vector<double> y;
    for (int i = 0; i < 20; ++i) {
      x.push_back(i);
      y.push_back(rng.uniform());
    }
    const Slope slope = theil_sen(x, y);
    covered += slope.low <= 0 && slope.high >= 0 ? 1 : 0;
  }
  EXPECT_GE(covered, 368);  // 92 %: 400 draws of 95 % fall below this once in a few thousand times.
}

TEST(Statistics, TheilSenBoundsNothingFromThreePoints) {
  const Slope slope = theil_sen(std::vector{0.0, 1.0, 2.0}, std::vector{0.0, 1.0, 2.0});
  EXPECT_TRUE(std::isinf(slope.low));
  EXPECT_TRUE(std::isinf(slope.high));
}

TEST(Statistics, WindowedMinimaKeepTheFloorOfASawtooth) {
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < 100; ++i) {
    x.push_back(i);
    y.push_back(100.0 + i % 10);
  }
  const Minima minima = windowed_minima(x, y, 5);
  ASSERT_EQ(minima.y.size(), 5U);
  for (const double floor : minima.y) EXPECT_DOUBLE_EQ(floor, 100.0);
}

}  // namespace
}  // namespace plimsoll
