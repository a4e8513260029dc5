#include "bench/lease_claims/rate_kept.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace plimsoll::bench {
namespace {

using std::chrono::milliseconds;

/// An end in every `step` from `from` on, before `to`.
void add(std::vector<TimePoint>& ended, int from, int to, int step) {
  for (int at = from; at < to; at += step) ended.push_back(TimePoint{} + milliseconds(at));
}

TEST(RateKept, IsOneWhereTheRateIsSteady) {
  std::vector<TimePoint> ended;
  add(ended, 0, 300, 1);
  EXPECT_DOUBLE_EQ(rate_kept(ended, milliseconds(300)), 1);
}

TEST(RateKept, LeavesOutTheWarmUpHoweverLongAndSlowItWas) {
  std::vector<TimePoint> ended;
  add(ended, 0, 600, 100);
  add(ended, 600, 700, 1);
  add(ended, 700, 900, 2);
  EXPECT_NEAR(rate_kept(ended, milliseconds(300)), 0.5, 0.02);
}

TEST(RateKept, IsZeroWhereTheFirstThirdHasNothingToCompareWith) {
  EXPECT_EQ(rate_kept({}, milliseconds(300)), 0);
  std::vector<TimePoint> ended;
  add(ended, 500, 510, 1);
  EXPECT_EQ(rate_kept(ended, milliseconds(300)), 0);
}

}  // namespace
}  // namespace plimsoll::bench
