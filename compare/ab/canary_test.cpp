#include "compare/ab/canary.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::compare {
namespace {

std::vector<std::chrono::nanoseconds> readings(std::initializer_list<int> values) {
  return {values.begin(), values.end()};
}

TEST(Canary, TwoReadingsOffTheirNeighboursAreADisturbance) {
  EXPECT_TRUE(disturbed(readings({1000, 1200, 1000, 1200, 1000})));
  EXPECT_TRUE(disturbed(readings({1000, 1000, 1000, 1600, 1600})));
  EXPECT_TRUE(disturbed(readings({1600, 1000, 1600, 1000, 1600})));
}

TEST(Canary, OneOddReadingIsABlip) {
  EXPECT_FALSE(disturbed(readings({1000, 1600, 1000, 1000, 1000})));
  EXPECT_FALSE(disturbed(readings({1000, 1100, 1000, 900, 1000})));
}

TEST(Canary, ASteadilySlowMachineIsCalm) {
  EXPECT_FALSE(disturbed(readings({1600, 1590, 1610, 1600, 1620})));
}

TEST(Canary, NothingReadIsNothingDisturbed) {
  EXPECT_FALSE(disturbed({}));
  EXPECT_FALSE(disturbed(readings({1000})));
  EXPECT_EQ(median_ns({}), 0);
}

}  // namespace
}  // namespace plimsoll::compare
