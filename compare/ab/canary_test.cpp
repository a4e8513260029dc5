#include "compare/ab/canary.hpp"

#include <gtest/gtest.h>

namespace plimsoll::compare {
namespace {

using std::chrono::nanoseconds;

CanaryLog log_of(std::initializer_list<int> readings) {
  CanaryLog log;
  for (const int reading : readings) log.add(nanoseconds(reading));
  return log;
}

TEST(Canary, ReadsTheSameWorkAgain) {
  EXPECT_GT(read_canary().count(), 0);
  EXPECT_GT(read_canary().count(), 0);
}

TEST(CanaryLog, FindsTheCalmLevelBelowALongEpisode) {
  CanaryLog log;
  for (int i = 0; i < 20; ++i) log.add(nanoseconds(1000 + i));
  for (int i = 0; i < 80; ++i) log.add(nanoseconds(1600));
  EXPECT_NEAR(log.calm_ns(), 1009.5, 1);
  EXPECT_TRUE(log.off(nanoseconds(1600)));
  EXPECT_FALSE(log.off(nanoseconds(1100)));
}

TEST(CanaryLog, IsNotFooledByOneLuckyReading) {
  CanaryLog log = log_of({500});
  for (int i = 0; i < 40; ++i) log.add(nanoseconds(1000));
  EXPECT_DOUBLE_EQ(log.calm_ns(), 1000);
  EXPECT_TRUE(log.off(nanoseconds(500)));
}

TEST(CanaryLog, LearnsThatWhatItTookForCalmWasNot) {
  CanaryLog log;
  for (int i = 0; i < 20; ++i) log.add(nanoseconds(1500));
  EXPECT_FALSE(log.off(nanoseconds(1500)));
  for (int i = 0; i < 10; ++i) log.add(nanoseconds(1000));
  EXPECT_TRUE(log.off(nanoseconds(1500)));
}

TEST(CanaryLog, OneOddReadingOfSeveralIsABlip) {
  const CanaryLog log = log_of({1000, 1000, 1000, 1000, 1000, 1000});
  const nanoseconds calm(1000);
  const nanoseconds off(1200);
  EXPECT_FALSE(log.disturbed(std::vector{calm, off, calm, calm, calm}));
  EXPECT_TRUE(log.disturbed(std::vector{calm, off, calm, off, calm}));
  EXPECT_TRUE(log.disturbed(std::vector{off}));
  EXPECT_FALSE(log.disturbed(std::vector{calm}));
  EXPECT_FALSE(log.disturbed({}));
}

TEST(CanaryLog, SaysNothingBeforeTheFirstReading) {
  EXPECT_EQ(CanaryLog().calm_ns(), 0);
  EXPECT_FALSE(CanaryLog().off(nanoseconds(5)));
}

}  // namespace
}  // namespace plimsoll::compare
