#include "lib/load/histogram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/core/rng.hpp"

namespace plimsoll::load {
namespace {

using testing::HasSubstr;

Histogram recorded(const std::vector<std::int64_t>& values) {
  Histogram histogram;
  for (const auto value : values) histogram.record(Nanoseconds(value));
  return histogram;
}

/// Log-uniform over the whole range, so that every octave is met.
std::vector<std::int64_t> draw(std::uint64_t seed, std::size_t count) {
  Rng rng(seed);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<std::int64_t>(std::exp2(42.0 * rng.uniform())) - 1);
  }
  return values;
}

std::int64_t exact_quantile(std::vector<std::int64_t> values, double q) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(q * n * (1 - 1e-15))));
  return values[rank - 1];
}

TEST(Histogram, QuantilesLieWithinOnePartIn128OfTheExactOnes) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto values = draw(seed, 1 + seed * seed);
    const Histogram histogram = recorded(values);
    for (const double q : {0.0, 0.01, 0.07, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0}) {
      const auto exact = static_cast<double>(exact_quantile(values, q));
      const auto got = static_cast<double>(histogram.quantile_raw(q).count());
      EXPECT_LE(std::abs(got - exact), exact / 128) << "seed " << seed << " q " << q;
    }
  }
}

TEST(Histogram, CountMinimumMaximumAndSumAreExact) {
  const auto values = draw(7, 5000);
  const Histogram histogram = recorded(values);
  std::int64_t sum = 0;
  for (const auto value : values) sum += value;
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.sum().count(), sum);
  EXPECT_EQ(histogram.min().count(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(histogram.max().count(), *std::max_element(values.begin(), values.end()));
  EXPECT_DOUBLE_EQ(histogram.mean(), static_cast<double>(sum) / 5000.0);
}

TEST(Histogram, EveryValueLiesBetweenItsBucketsEdgesAndBucketsTouch) {
  for (const std::int64_t value : draw(11, 20000)) {
    const auto index = Histogram::index_of(value);
    ASSERT_LE(Histogram::lower_edge(index), value);
    ASSERT_GE(Histogram::upper_edge(index), value);
  }
  for (std::uint32_t index = 0; index + 1 < Histogram::kBuckets; ++index) {
    ASSERT_EQ(Histogram::upper_edge(index) + 1, Histogram::lower_edge(index + 1)) << index;
    ASSERT_EQ(Histogram::index_of(Histogram::lower_edge(index)), index);
    ASSERT_EQ(Histogram::index_of(Histogram::upper_edge(index)), index);
  }
  EXPECT_EQ(Histogram::upper_edge(Histogram::kBuckets - 1), Histogram::kHighest);
}

TEST(Histogram, BoundaryValuesFallWhereTheyShould) {
  EXPECT_EQ(Histogram::index_of(0), 0U);
  EXPECT_EQ(Histogram::index_of(127), 127U);
  EXPECT_EQ(Histogram::index_of(128), 128U);
  EXPECT_EQ(Histogram::index_of(255), 255U);
  EXPECT_EQ(Histogram::index_of(256), 256U);
  EXPECT_EQ(Histogram::index_of(257), 256U);
  EXPECT_EQ(Histogram::index_of(Histogram::kHighest), Histogram::kBuckets - 1);
  EXPECT_GE(Nanoseconds(Histogram::kHighest), std::chrono::hours(1));
}

TEST(Histogram, SaturatedValuesAreCountedApartAndStayInCountMaximumAndSum) {
  const Histogram histogram = recorded({5, Histogram::kHighest, Histogram::kHighest + 1});
  EXPECT_EQ(histogram.saturated(), 1U);
  EXPECT_EQ(histogram.count(), 3U);
  EXPECT_EQ(histogram.max().count(), Histogram::kHighest + 1);
  EXPECT_EQ(histogram.sum().count(), 2 * Histogram::kHighest + 6);
  EXPECT_EQ(histogram.quantile_raw(1.0).count(), Histogram::kHighest + 1);
  EXPECT_EQ(histogram.buckets().size(), 2U);
}

TEST(Histogram, TheSumOfTheLargestValuesSaturatesInsteadOfWrapping) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  const Histogram histogram = recorded({kMax, kMax, kMax});
  EXPECT_EQ(histogram.sum().count(), kMax);
  EXPECT_DOUBLE_EQ(histogram.mean(), static_cast<double>(kMax));
}

TEST(Histogram, SumsThatWentOver64BitsMerge) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  Histogram merged = recorded({kMax, kMax, kMax});
  merged.merge(recorded({kMax, kMax, kMax}));
  EXPECT_DOUBLE_EQ(merged.mean(), static_cast<double>(kMax));
}

TEST(Histogram, NothingButAMaximumIsStillEmpty) {
  Histogram::Parts parts;
  parts.max = Nanoseconds(std::numeric_limits<std::int64_t>::max());
  const auto histogram = Histogram::from_parts(parts);
  ASSERT_TRUE(histogram.has_value());
  EXPECT_TRUE(histogram->empty());
  EXPECT_EQ(histogram->mean(), 0);
}

TEST(Histogram, ANegativeValueIsRecordedAsZeroAndCounted) {
  const Histogram histogram = recorded({-1, std::numeric_limits<std::int64_t>::min(), 10});
  EXPECT_EQ(histogram.negative(), 2U);
  EXPECT_EQ(histogram.count(), 3U);
  EXPECT_EQ(histogram.min().count(), 0);
  EXPECT_EQ(histogram.sum().count(), 10);
}

TEST(Histogram, AnEmptyOneAnswersZeroAndNoQuantile) {
  const Histogram histogram;
  EXPECT_EQ(histogram.min().count(), 0);
  EXPECT_EQ(histogram.max().count(), 0);
  EXPECT_EQ(histogram.mean(), 0.0);
  EXPECT_EQ(histogram.quantile_raw(0.5).count(), 0);
  EXPECT_EQ(histogram.quantile(0.5), std::nullopt);
}

TEST(Histogram, AQuantileNeedsTwentySamplesBeyondIt) {
  EXPECT_EQ(Histogram::samples_needed(0.5), 40U);
  EXPECT_EQ(Histogram::samples_needed(0.95), 400U);
  EXPECT_EQ(Histogram::samples_needed(0.99), 2000U);
  EXPECT_EQ(Histogram::samples_needed(0.999), 20000U);
  Histogram histogram;
  for (int i = 0; i < 1999; ++i) histogram.record(Nanoseconds(i));
  EXPECT_EQ(histogram.quantile(0.99), std::nullopt);
  histogram.record(Nanoseconds(1999));
  EXPECT_NE(histogram.quantile(0.99), std::nullopt);
}

TEST(Histogram, MergeIsAssociativeAndCommutativeAndEqualsRecordingAll) {
  auto values_a = draw(1, 300);
  const auto values_b = draw(2, 200);
  const auto values_c = draw(3, 100);
  const Histogram a = recorded(values_a);
  const Histogram b = recorded(values_b);
  const Histogram c = recorded(values_c);
  Histogram left = a;
  left.merge(b);
  left.merge(c);
  Histogram right = c;
  right.merge(b);
  Histogram ab_c = a;
  ab_c.merge(right);
  values_a.insert(values_a.end(), values_b.begin(), values_b.end());
  values_a.insert(values_a.end(), values_c.begin(), values_c.end());
  EXPECT_EQ(left, ab_c);
  EXPECT_EQ(left, recorded(values_a));
  Histogram with_empty = a;
  with_empty.merge(Histogram());
  EXPECT_EQ(with_empty, a);
}

TEST(Histogram, TakeLeavesAnEmptyOneSoThatIntervalsAddUpToTheWhole) {
  Histogram running = recorded({1, 2, 3});
  Histogram total = running.take();
  EXPECT_TRUE(running.empty());
  EXPECT_EQ(running, Histogram());
  running.record(Nanoseconds(4));
  total.merge(running.take());
  EXPECT_EQ(total, recorded({1, 2, 3, 4}));
}

TEST(Histogram, PartsBuildAnEqualHistogramAgain) {
  const Histogram histogram = recorded({0, 1, 1, 300, 5'000'000, Histogram::kHighest + 9});
  const auto again = Histogram::from_parts(histogram.parts());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, histogram);
  const auto empty = Histogram::from_parts(Histogram().parts());
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, Histogram());
}

void expect_corrupt(const Histogram::Parts& parts, const std::string& word) {
  const auto read = Histogram::from_parts(parts);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kCorrupt);
  EXPECT_THAT(read.error().message, HasSubstr(word));
}

TEST(Histogram, PartsThatContradictThemselvesAreRefused) {
  const auto good = recorded({1, 2, 300}).parts();
  auto parts = good;
  parts.bits = 8;
  expect_corrupt(parts, "bits");
  parts = good;
  parts.count = 4;
  expect_corrupt(parts, "count is 4");
  parts = good;
  parts.buckets.back().index = Histogram::kBuckets;
  expect_corrupt(parts, "index");
  parts = good;
  std::swap(parts.buckets[0], parts.buckets[1]);
  expect_corrupt(parts, "ascend");
  parts = good;
  parts.min = parts.max + Nanoseconds(1);
  expect_corrupt(parts, "contradict");
}

}  // namespace
}  // namespace plimsoll::load
