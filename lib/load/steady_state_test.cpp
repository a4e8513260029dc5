#include "lib/load/steady_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "lib/core/rng.hpp"

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;

SteadyState after(const std::vector<std::uint64_t>& counts) {
  SteadyState state;
  for (const auto count : counts) state.add(count, 40ms);
  return state;
}

TEST(SteadyState, FiveEqualIntervalsAreSteadyAndFourAreNot) {
  EXPECT_FALSE(after({1000, 1000, 1000, 1000}).reached());
  EXPECT_TRUE(after({1000, 1000, 1000, 1000, 1000}).reached());
}

TEST(SteadyState, ARisingThroughputIsNotSteady) {
  EXPECT_FALSE(after({100'000, 110'000, 120'000, 130'000, 140'000}).reached());
  EXPECT_FALSE(after({140'000, 130'000, 120'000, 110'000, 100'000}).reached());
}

TEST(SteadyState, OneIntervalFarOffIsNotSteady) {
  EXPECT_FALSE(after({100'000, 100'000, 50'000, 100'000, 100'000}).reached());
}

TEST(SteadyState, OnlyTheLastIntervalsCount) {
  EXPECT_TRUE(after({1, 50'000, 100'000, 100'000, 100'000, 100'000, 100'000}).reached());
}

TEST(SteadyState, IntervalsOfUnequalLengthAreComparedByRate) {
  SteadyState state;
  for (const int length : {10, 40, 20, 80, 30}) {
    state.add(static_cast<std::uint64_t>(1000 * length), std::chrono::milliseconds(length));
  }
  EXPECT_TRUE(state.reached());
}

TEST(SteadyState, NothingOrNearlyNothingIsNeverSteady) {
  EXPECT_FALSE(after({0, 0, 0, 0, 0}).reached());
  EXPECT_FALSE(after({1, 0, 0, 1, 0}).reached());
  EXPECT_THAT(after({0, 0, 0, 0, 0}).describe(), testing::HasSubstr("nothing ended"));
  EXPECT_THAT(after({5}).describe(), testing::HasSubstr("1 of the 5"));
}

TEST(SteadyState, ChanceInSmallCountsDoesNotHoldItUp) {
  Rng rng(3);
  int reached = 0;
  constexpr int kTrials = 500;
  for (int trial = 0; trial < kTrials; ++trial) {
    SteadyState state;
    for (std::size_t i = 0; i < SteadyState::kIntervals; ++i) {
      std::uint64_t count = 0;  // Of a Poisson process with 20 expected.
      for (double at = rng.exponential(1.0); at < 20; at += rng.exponential(1.0)) ++count;
      state.add(count, 40ms);
    }
    reached += state.reached() ? 1 : 0;
  }
  EXPECT_GE(reached, kTrials * 98 / 100);
}

}  // namespace
}  // namespace plimsoll::load
