#include "lib/load/arrivals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t kSeed = 42;
constexpr auto kLaws = {Arrivals::Law::kConstant, Arrivals::Law::kPoisson};

std::vector<std::int64_t> offsets(const Arrivals& arrivals, std::size_t count,
                                  std::uint64_t seed = kSeed) {
  const TimePoint start{5s};
  ArrivalPlan plan(arrivals, seed, start);
  std::vector<std::int64_t> due;
  for (std::size_t i = 0; i < count; ++i) {
    const TimePoint next = plan.peek();
    EXPECT_EQ(plan.pop(), next);
    due.push_back((next - start).count());
  }
  return due;
}

TEST(Arrivals, AConstantPlanHasEqualGapsAndDoesNotDrift) {
  const auto due = offsets({Arrivals::Law::kConstant, 3.0, 0, 1}, 300'001);
  EXPECT_EQ(due[0], 0);
  EXPECT_EQ(due[1], 333'333'333);
  EXPECT_EQ(due[3], 1'000'000'000);
  EXPECT_EQ(due[300'000], 100'000'000'000'000);
}

TEST(Arrivals, OneGeneratorAndManyOfferTheSameArrivals) {
  for (const auto law : kLaws) {
    for (const std::uint32_t ranks : {2U, 3U, 7U}) {
      constexpr std::size_t kEach = 500;
      const auto whole = offsets({law, 1000.0, 0, 1}, kEach * ranks);
      std::vector<std::int64_t> merged;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const auto part = offsets({law, 1000.0, rank, ranks}, kEach);
        merged.insert(merged.end(), part.begin(), part.end());
      }
      std::sort(merged.begin(), merged.end());
      EXPECT_EQ(merged, whole) << ranks << " ranks";
    }
  }
}

TEST(Arrivals, TheIndexIsThePlaceInTheWholePlan) {
  ArrivalPlan plan({Arrivals::Law::kPoisson, 10.0, 2, 5}, kSeed, TimePoint{});
  EXPECT_EQ(plan.index(), 2U);
  plan.pop();
  EXPECT_EQ(plan.index(), 7U);
}

TEST(Arrivals, EqualSeedsGiveEqualPlansAndOthersDiffer) {
  const Arrivals poisson{Arrivals::Law::kPoisson, 1000.0, 0, 1};
  EXPECT_EQ(offsets(poisson, 100, 1), offsets(poisson, 100, 1));
  EXPECT_NE(offsets(poisson, 100, 1), offsets(poisson, 100, 2));
}

TEST(Arrivals, PoissonGapsAreExponential) {
  constexpr std::size_t kCount = 100'000;
  const auto due = offsets({Arrivals::Law::kPoisson, 1000.0, 0, 1}, kCount);
  double sum = 0;
  double squares = 0;
  double above_mean = 0;
  std::int64_t previous = 0;
  for (const auto at : due) {
    const double gap = static_cast<double>(at - previous) / 1e6;  // In mean gaps.
    previous = at;
    sum += gap;
    squares += gap * gap;
    if (gap > 1) above_mean += 1;
  }
  const double mean = sum / kCount;
  // Five standard errors each; the seed is fixed, so this holds always or never.
  EXPECT_NEAR(mean, 1.0, 5 / std::sqrt(1.0 * kCount));
  EXPECT_NEAR(squares / kCount - mean * mean, 1.0, 5 * std::sqrt(8.0 / kCount));
  EXPECT_NEAR(above_mean / kCount, std::exp(-1.0), 5 * std::sqrt(0.2325 / kCount));
}

TEST(Arrivals, PoissonCountsPerIntervalVaryAsMuchAsTheirMean) {
  const auto due = offsets({Arrivals::Law::kPoisson, 10'000.0, 0, 1}, 200'000);
  std::vector<double> counts(1900, 0);  // Of 10 ms, 100 expected in each.
  for (const auto at : due) {
    const auto interval = static_cast<std::size_t>(at / 10'000'000);
    if (interval < counts.size()) counts[interval] += 1;
  }
  double mean = 0;
  for (const double count : counts) mean += count / 1900;
  double variance = 0;
  for (const double count : counts) variance += (count - mean) * (count - mean) / 1899;
  EXPECT_NEAR(variance / mean, 1.0, 5 * std::sqrt(2.0 / 1900));
}

TEST(Arrivals, AnImpossiblePlanIsRefusedWithTheFieldAndItsValue) {
  for (const double rate : {0.0, -1.0, 1e10, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    const auto checked = Arrivals{Arrivals::Law::kConstant, rate, 0, 1}.check();
    ASSERT_FALSE(checked) << rate;
    EXPECT_EQ(checked.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(checked.error().message, HasSubstr("arrivals.rate"));
  }
  for (const auto& [rank, ranks] : {std::pair{1U, 1U}, std::pair{0U, 0U}}) {
    const auto checked = Arrivals{Arrivals::Law::kConstant, 1, rank, ranks}.check();
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message, HasSubstr("arrivals.rank"));
  }
}

}  // namespace
}  // namespace plimsoll::load
