#include "compare/stats/stats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "lib/core/rng.hpp"

namespace plimsoll::compare {
namespace {

std::vector<double> counting(int first, int last) {
  std::vector<double> values(static_cast<std::size_t>(last - first + 1));
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<double> mean_ranks(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    const auto below =
        std::count_if(values.begin(), values.end(), [&](double v) { return v < value; });
    const auto equal = std::count(values.begin(), values.end(), value);
    ranks.push_back(static_cast<double>(below) + (static_cast<double>(equal) + 1) / 2);
  }
  return ranks;
}

double choose(double below, double above, Tail tail) {
  if (tail == Tail::kLess) return below;
  if (tail == Tail::kGreater) return above;
  return std::min(1.0, 2 * std::min(below, above));
}

/// Every assignment of signs, one by one.
double signed_rank_by_enumeration(std::vector<double> differences, Tail tail) {
  std::erase(differences, 0.0);
  if (differences.empty()) return 1.0;
  std::vector<double> magnitudes;
  for (const double d : differences) magnitudes.push_back(std::abs(d));
  const std::vector<double> ranks = mean_ranks(magnitudes);
  double observed = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) observed += differences[i] > 0 ? ranks[i] : 0;
  double below = 0;
  double above = 0;
  const std::uint32_t all = 1U << ranks.size();
  for (std::uint32_t signs = 0; signs < all; ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += (signs >> i & 1U) != 0 ? ranks[i] : 0;
    below += sum <= observed ? 1 : 0;
    above += sum >= observed ? 1 : 0;
  }
  return choose(below / all, above / all, tail);
}

/// Every way to call so many of the values "after", one by one.
double rank_sum_by_enumeration(const std::vector<double>& before, const std::vector<double>& after,
                               Tail tail) {
  std::vector<double> all = after;
  all.insert(all.end(), before.begin(), before.end());
  const std::vector<double> ranks = mean_ranks(all);
  const double observed = std::accumulate(
      ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(after.size()), 0.0);
  double below = 0;
  double above = 0;
  double subsets = 0;
  for (std::uint32_t chosen = 0; chosen < 1U << ranks.size(); ++chosen) {
    if (static_cast<std::size_t>(std::popcount(chosen)) != after.size()) continue;
    double sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += (chosen >> i & 1U) != 0 ? ranks[i] : 0;
    ++subsets;
    below += sum <= observed ? 1 : 0;
    above += sum >= observed ? 1 : 0;
  }
  return choose(below / subsets, above / subsets, tail);
}

constexpr Tail kTails[] = {Tail::kTwoSided, Tail::kGreater, Tail::kLess};

TEST(SignedRank, TwelveEqualSignsGiveOneIn4096) {
  EXPECT_DOUBLE_EQ(signed_rank_p(counting(1, 12), Tail::kGreater), 1.0 / 4096);
  EXPECT_DOUBLE_EQ(signed_rank_p(counting(1, 12), Tail::kTwoSided), 2.0 / 4096);
  EXPECT_DOUBLE_EQ(signed_rank_p(counting(1, 12), Tail::kLess), 1.0);
}

/// Differences 1..n with the magnitudes in `negative` turned: the smaller rank sum is the sum of
/// `negative`.
std::vector<double> with_negative(int n, const std::vector<int>& negative) {
  std::vector<double> differences = counting(1, n);
  for (const int rank : negative) differences[static_cast<std::size_t>(rank - 1)] *= -1;
  return differences;
}

TEST(SignedRank, AgreesWithThePublishedCriticalValues) {
  // Wilcoxon and Wilcox (1964): the largest smaller-rank sum that is still significant, two-sided.
  struct Row {
    int n;
    double alpha;
    std::vector<int> at;    // Ranks that add up to the critical value,
    std::vector<int> past;  // and to one more.
  };
  const Row rows[] = {
      {6, 0.05, {}, {1}},
      {8, 0.05, {3}, {4}},
      {8, 0.01, {}, {1}},
      {10, 0.05, {8}, {9}},
      {10, 0.01, {3}, {4}},
      {12, 0.05, {10, 3}, {10, 4}},
      {12, 0.01, {7}, {8}},
      {15, 0.05, {15, 10}, {15, 11}},
      {20, 0.05, {20, 19, 13}, {20, 19, 14}},
      {25, 0.01, {25, 24, 19}, {25, 24, 20}},
  };
  for (const Row& row : rows) {
    EXPECT_LE(signed_rank_p(with_negative(row.n, row.at), Tail::kTwoSided), row.alpha) << row.n;
    EXPECT_GT(signed_rank_p(with_negative(row.n, row.past), Tail::kTwoSided), row.alpha) << row.n;
  }
}

TEST(SignedRank, EqualsTheEnumerationOfAllSignsWithTiesAndZeros) {
  Rng rng(3);
  for (int run = 0; run < 60; ++run) {
    std::vector<double> differences(1 + rng.below(12));
    // Few distinct values: nearly every sample has ties, many have zeros.
    for (double& d : differences) d = static_cast<double>(rng.below(7)) - 2;
    for (const Tail tail : kTails) {
      EXPECT_NEAR(signed_rank_p(differences, tail), signed_rank_by_enumeration(differences, tail),
                  1e-12);
    }
  }
}

TEST(SignedRank, NothingButZerosSaysNothing) {
  EXPECT_EQ(signed_rank_p(std::vector{0.0, 0.0, 0.0}, Tail::kTwoSided), 1.0);
  EXPECT_EQ(signed_rank_p({}, Tail::kGreater), 1.0);
}

TEST(SignedRank, TheNormalTakesOverWithoutAJump) {
  // Every third sign turned, so that both sizes, multiples of three, lie at about the same
  // quantile.
  const auto p_at = [](std::size_t n) {
    std::vector<double> differences = counting(1, static_cast<int>(n));
    for (std::size_t i = 0; i < n; i += 3) differences[i] *= -1;
    return signed_rank_p(differences, Tail::kTwoSided);
  };
  const double exact = p_at(kExactSignedRank);
  EXPECT_GT(exact, 0.001);
  EXPECT_NEAR(p_at(kExactSignedRank + 3) / exact, 1.0, 0.2);
}

TEST(RankSum, AgreesWithThePublishedCriticalValuesOfU) {
  // Mann and Whitney's U at 5 % two-sided (Siegel 1956): 5 and 5: 2; 8 and 8: 13; 10 and 10: 23; 5
  // and 8: 6.
  struct Row {
    int before;
    int after;
    int critical;
  };
  for (const Row row :
       {Row{5, 5, 2}, Row{8, 8, 13}, Row{10, 10, 23}, Row{5, 8, 6}, Row{20, 20, 127}}) {
    for (const int u : {row.critical, row.critical + 1}) {
      // `before` is 1..n; each value of `after` sits above `above` of them, and these add up to U.
      const std::vector<double> before = counting(1, row.before);
      std::vector<double> after;
      int left = u;
      for (int i = 0; i < row.after; ++i) {
        const int above = std::min(left, row.before);
        left -= above;
        after.push_back(above + 0.5 + 0.01 * i);
      }
      const double p = rank_sum_p(before, after);
      if (u == row.critical) {
        EXPECT_LE(p, 0.05) << row.before << " and " << row.after;
      } else {
        EXPECT_GT(p, 0.05) << row.before << " and " << row.after;
      }
    }
  }
}

TEST(RankSum, EqualsTheEnumerationOfAllSplitsWithTies) {
  Rng rng(7);
  for (int run = 0; run < 60; ++run) {
    std::vector<double> before(1 + rng.below(6));
    std::vector<double> after(1 + rng.below(6));
    for (double& v : before) v = static_cast<double>(rng.below(6));
    for (double& v : after) v = static_cast<double>(rng.below(6)) + 1;
    for (const Tail tail : kTails) {
      EXPECT_NEAR(rank_sum_p(before, after, tail), rank_sum_by_enumeration(before, after, tail),
                  1e-12);
    }
  }
}

TEST(RankSum, FiveAgainstFiveApartReachesTwoIn252) {
  EXPECT_DOUBLE_EQ(rank_sum_p(counting(1, 5), counting(6, 10)), 2.0 / 252);
  EXPECT_DOUBLE_EQ(rank_sum_p(counting(6, 10), counting(1, 5)), 2.0 / 252);
}

TEST(RankSum, EqualOrEmptySamplesSayNothing) {
  EXPECT_EQ(rank_sum_p(std::vector{2.0, 2.0, 2.0}, std::vector{2.0, 2.0}), 1.0);
  EXPECT_EQ(rank_sum_p({}, std::vector{2.0, 2.0}), 1.0);
  EXPECT_EQ(rank_sum_p(std::vector(60, 2.0), std::vector(60, 2.0)), 1.0);
}

TEST(RankSum, TheNormalTakesOverWithoutAJump) {
  Rng rng(9);
  std::vector<double> before(kExactRankSum / 2);
  std::vector<double> after(kExactRankSum / 2);
  for (double& v : before) v = rng.uniform();
  for (double& v : after) v = rng.uniform() + 0.1;
  const double exact = rank_sum_p(before, after);
  after.push_back(0.6);  // Near the middle, so that the statistic keeps its place.
  EXPECT_NEAR(rank_sum_p(before, after) / exact, 1.0, 0.25);
}

TEST(HodgesLehmann, IsTheMedianOfPairwiseMeans) {
  const Estimate estimate = hodges_lehmann(std::vector{1.0, 2.0, 6.0}, 0.95);
  EXPECT_DOUBLE_EQ(estimate.value, 2.75);  // Of 1, 1.5, 2, 3.5, 4, 6.
}

TEST(HodgesLehmann, BoundsNothingWhereSoFewPairsCannot) {
  const Estimate five = hodges_lehmann(counting(1, 5), 0.95);  // 2 * 2^-5 > 0.05.
  EXPECT_TRUE(std::isinf(five.low) && std::isinf(five.high));
  const Estimate six = hodges_lehmann(counting(1, 6), 0.95);
  EXPECT_DOUBLE_EQ(six.low, 1.0);
  EXPECT_DOUBLE_EQ(six.high, 6.0);
}

TEST(HodgesLehmann, IntervalIsWhereTheTestStopsRejecting) {
  Rng rng(13);
  std::vector<double> differences(12);
  for (double& d : differences) d = rng.uniform();
  const Estimate estimate = hodges_lehmann(differences, 0.95);
  const auto p_if_centre_is = [&](double centre) {
    std::vector<double> moved = differences;
    for (double& d : moved) d -= centre;
    return signed_rank_p(moved, Tail::kTwoSided);
  };
  EXPECT_GT(p_if_centre_is(estimate.low + 1e-9), 0.05);
  EXPECT_LE(p_if_centre_is(estimate.low - 1e-9), 0.05);
  EXPECT_GT(p_if_centre_is(estimate.high - 1e-9), 0.05);
  EXPECT_LE(p_if_centre_is(estimate.high + 1e-9), 0.05);
}

TEST(Holm, StepsDownAndNeverDecreases) {
  const std::vector<double> adjusted = holm(std::vector{0.01, 0.04, 0.03, 0.005});
  const std::vector<double> expected{0.03, 0.06, 0.06, 0.02};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(adjusted[i], expected[i]);
  EXPECT_EQ(holm(std::vector{0.9, 0.8}), (std::vector{1.0, 1.0}));
  EXPECT_TRUE(holm({}).empty());
}

TEST(Wilson, AgreesWithPublishedExamples) {
  // Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
  struct Row {
    std::size_t successes;
    std::size_t trials;
    double low;
    double high;
  };
  for (const Row row : {Row{81, 263, 0.2553, 0.3662}, Row{15, 148, 0.0624, 0.1605},
                        Row{0, 20, 0.0, 0.1611}, Row{1, 29, 0.0061, 0.1718}}) {
    const Estimate estimate = wilson(row.successes, row.trials, 0.95);
    EXPECT_NEAR(estimate.low, row.low, 5e-5);
    EXPECT_NEAR(estimate.high, row.high, 5e-5);
  }
}

TEST(NormalQuantile, KnowsTheUsualOnes) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(0.995), 2.575829303548901, 1e-12);
  EXPECT_NEAR(normal_quantile(0.01), -2.326347874040841, 1e-12);
  EXPECT_NEAR(normal_quantile(0.5), 0.0, 1e-12);
}

TEST(Resolution, IsWhatTheTestsReachWhenSidesAreApart) {
  for (const Tail tail : kTails) {
    if (tail == Tail::kLess) continue;
    EXPECT_NEAR(smallest_signed_rank_p(12, tail), signed_rank_p(counting(1, 12), tail), 1e-15);
    EXPECT_NEAR(smallest_rank_sum_p(3, 8, tail), rank_sum_p(counting(1, 3), counting(4, 11), tail),
                1e-15);
  }
  // compare-anchors M6: 3 v 3 .05, 5 v 5 .004, 8 v 8 7.8e-5, one-sided.
  EXPECT_NEAR(smallest_rank_sum_p(3, 3, Tail::kGreater), 0.05, 1e-12);
  EXPECT_NEAR(smallest_rank_sum_p(5, 5, Tail::kGreater), 1.0 / 252, 1e-12);
  EXPECT_NEAR(smallest_rank_sum_p(8, 8, Tail::kGreater), 1.0 / 12870, 1e-12);
  EXPECT_EQ(smallest_rank_sum_p(1, 1, Tail::kTwoSided), 1.0);
}

}  // namespace
}  // namespace plimsoll::compare
