#include "lib/load/host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "lib/core/clock.hpp"

namespace plimsoll::load {
namespace {

using testing::HasSubstr;

TEST(CpuTimes, AreReadFromTheFirstLine) {
  const auto times =
      parse_cpu_times("cpu  100 1 200 3000 400 5 6 700 8 9\ncpu0 1 2 3 4 5 6 7 8 9 10\n", 100);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->idle, 34.0);
  EXPECT_DOUBLE_EQ(times->steal, 7.0);
}

TEST(CpuTimes, AnythingElseIsRefusedWithWhatWasSeen) {
  for (const char* text : {"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 x 4 5 6 7 8"}) {
    const auto times = parse_cpu_times(text, 100);
    ASSERT_FALSE(times) << text;
    EXPECT_EQ(times.error().code, Errc::kCorrupt);
    EXPECT_THAT(times.error().message, HasSubstr("/proc/stat"));
  }
}

TEST(CpuTimes, OfThisMachineDoNotRunBackwards) {
  const auto before = read_cpu_times();
  const auto after = read_cpu_times();
  ASSERT_TRUE(before && after);
  EXPECT_GT(before->idle, 0);
  EXPECT_GE(after->idle, before->idle);
}

HostInterval idle_for(double idle, double ours) {
  HostInterval interval;
  interval.seconds = 10;
  interval.cores = 2;
  interval.tick = 0.01;
  interval.before.idle = 1000;
  interval.after.idle = 1000 + idle;
  interval.ours = ours;
  return interval;
}

TEST(HostUse, WhatIsNeitherIdleNorOursIsForeign) {
  EXPECT_NEAR(host_use(idle_for(12, 5)).foreign_cores, 0.3, 0.01);
  EXPECT_DOUBLE_EQ(host_use(idle_for(12, 8)).foreign_cores, 0.0);
  EXPECT_DOUBLE_EQ(host_use(idle_for(20, 0)).foreign_cores, 0.0);
}

TEST(HostUse, WhereAllProcessesCanBeSeenTheirSumIsBelieved) {
  HostInterval interval = idle_for(12, 5);
  interval.others = 1.02;
  EXPECT_NEAR(host_use(interval).foreign_cores, 0.1, 1e-9);
  interval.others = 0.01;
  EXPECT_DOUBLE_EQ(host_use(interval).foreign_cores, 0.0);
}

TEST(HostUse, NobodyIsChargedWithMoreThanWasUsed) {
  HostInterval interval = idle_for(12, 5);
  interval.others = 27.6;  // On two cores in ten seconds.
  EXPECT_NEAR(host_use(interval).foreign_cores, 0.3, 1e-9);
}

TEST(HostUse, MoreThanThereIsCountsAsNothingForeign) {
  EXPECT_DOUBLE_EQ(host_use(idle_for(15, 8)).foreign_cores, 0.0);
}

TEST(HostUse, StolenTimeIsNeitherIdleNorForeign) {
  HostInterval interval = idle_for(12, 7);
  interval.after.steal = 1.01;
  EXPECT_NEAR(host_use(interval).steal_share, 0.05, 1e-9);
  EXPECT_DOUBLE_EQ(host_use(interval).foreign_cores, 0.0);
}

TEST(HostUse, WhatTheTicksCannotResolveIsNotHeldAgainstAnyone) {
  HostInterval interval = idle_for(0.17, 0);
  interval.seconds = 0.1;
  EXPECT_NEAR(host_use(interval).foreign_cores, 0.0, 1e-9);
  interval.seconds = 0;
  EXPECT_DOUBLE_EQ(host_use(interval).foreign_cores, 0.0);
}

TEST(Pressure, TheTenSecondAverageIsRead) {
  EXPECT_EQ(parse_some_avg10("some avg10=37.43 avg60=22.60 avg300=7.74 total=39173571\n"), 37.43);
  EXPECT_EQ(parse_some_avg10("full avg10=1.00"), std::nullopt);
  EXPECT_EQ(parse_some_avg10("some avg10=x avg60=1"), std::nullopt);
  EXPECT_EQ(parse_some_avg10(""), std::nullopt);
}

TEST(Pressure, OnlyAboveTheLimitItSpeaksAgainstStarting) {
  EXPECT_EQ(contended(Pressure{.cpu_some_avg10 = 20, .io_some_avg10 = 3}), std::nullopt);
  const auto cpu = contended(Pressure{.cpu_some_avg10 = 41, .io_some_avg10 = 3});
  ASSERT_TRUE(cpu);
  EXPECT_THAT(*cpu, HasSubstr("waited for a core 41 %"));
  const auto io = contended(Pressure{.cpu_some_avg10 = 1, .io_some_avg10 = 64});
  ASSERT_TRUE(io);
  EXPECT_THAT(*io, HasSubstr("storage 64 %"));
}

}  // namespace
}  // namespace plimsoll::load
