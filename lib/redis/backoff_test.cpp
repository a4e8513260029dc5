#include "lib/redis/backoff.hpp"

#include <gtest/gtest.h>

#include <set>

namespace plimsoll::redis {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DoublesUpToTheLongestAndCutsAtMostAHalf) {
  Backoff backoff(50ms, 1000ms, 1);
  for (const auto whole : {50ms, 100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms, 1000ms}) {
    const auto pause = backoff.next();
    EXPECT_GE(pause, whole / 2);
    EXPECT_LE(pause, whole);
  }
}

TEST(Backoff, BeginsAnewAfterASuccess) {
  Backoff backoff(10ms, 1000ms, 1);
  for (int i = 0; i < 5; ++i) (void)backoff.next();
  backoff.reset();
  EXPECT_LE(backoff.next(), 10ms);
}

TEST(Backoff, SpreadsClientsThatBrokeTogether) {
  std::set<std::chrono::milliseconds> pauses;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Backoff backoff(1000ms, 1000ms, seed);
    pauses.insert(backoff.next());
  }
  EXPECT_GT(pauses.size(), 50U);
  EXPECT_LT(*pauses.begin(), 600ms);
  EXPECT_GT(*pauses.rbegin(), 900ms);
}

TEST(Backoff, IsTheSameForTheSameSeed) {
  Backoff one(1000ms, 9000ms, 7);
  Backoff other(1000ms, 9000ms, 7);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(one.next(), other.next());
}

TEST(Backoff, OfOneMillisecondStaysOne) {
  Backoff backoff(1ms, 1ms, 1);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(backoff.next(), 1ms);
}

}  // namespace
}  // namespace plimsoll::redis
