#include "bench/harness/host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plimsoll::bench {
namespace {

using ::testing::HasSubstr;

HostCpu at(double seconds, double busy, double own, double stolen = 0) {
  return {
      TimePoint(std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(seconds))),
      busy, stolen, own};
}

/// Uses a core for so much CPU time.
void burn(double seconds) {
  const auto end = process_cpu_time() +
                   std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(seconds));
  while (process_cpu_time() < end) {
  }
}

TEST(Contention, IsWhatOthersUsedBeyondTheGrainOfTheClock) {
  const Contention contention = contention_between(at(0, 100, 10), at(10, 112, 20), 2);
  // 12 s busy, 10 of them ours, 50 ms of grain.
  EXPECT_NEAR(contention.foreign_cores, 0.195, 1e-9);
}

TEST(Contention, NeverClaimsMoreThanTheClockCanShow) {
  EXPECT_EQ(contention_between(at(0, 0, 0), at(0.1, 0.04, 0), 2).foreign_cores, 0);
  EXPECT_EQ(contention_between(at(5, 0, 0), at(5, 1, 0), 2).foreign_cores, 0) << "no time passed";
}

TEST(Contention, GivesAReasonBeyondEitherLimit) {
  EXPECT_EQ(contention_reason({0.05, 0.02}), std::nullopt);
  EXPECT_THAT(contention_reason({0.3, 0}).value_or(""), HasSubstr("30 % of one core"));
  EXPECT_THAT(contention_reason({0, 0.025}).value_or(""), HasSubstr("2.5 %"));
}

TEST(Contention, OfStolenTimeIsAShareOfAllCores) {
  EXPECT_NEAR(contention_between(at(0, 0, 0, 0), at(10, 0, 0, 1), 2).stolen_share, 0.049, 1e-9);
  EXPECT_NEAR(stolen_share(at(0, 0, 0, 0), at(10, 0, 0, 1), 2), 0.05, 1e-9);
}

TEST(HostCpu, CountsOurOwnWork) {
  const HostCpu before = read_host_cpu();
  burn(0.2);
  const HostCpu after = read_host_cpu();
  EXPECT_GE(after.own - before.own, 0.2);
  EXPECT_GT(after.busy, before.busy);
}

TEST(HostCpu, CountsAServersWorkOnlyWhereItIsNamed) {
  const HostCpu with_none = read_host_cpu();
  const pid_t server = fork();
  if (server == 0) {
    burn(0.3);
    pause();
    _exit(0);
  }
  const HostCpu named_before = read_host_cpu({server});
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  HostCpu named_after = named_before;
  while (named_after.own - named_before.own < 0.15 && Clock::now() < deadline) {
    usleep(20'000);
    named_after = read_host_cpu({server});
  }
  EXPECT_GE(named_after.own - named_before.own, 0.15);
  // It has not been waited for, so it is nobody's child yet.
  EXPECT_LT(read_host_cpu().own - with_none.own, named_after.own - with_none.own);
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
}

TEST(HostWatch, SeesANeighbourAndNotOurselves) {
  HostWatch watch;
  (void)watch.sample();
  burn(0.1);
  (void)watch.sample();
  // What else the host does cannot be told here; that our own 0.1 s is not held against us can.
  EXPECT_GE(watch.overall().foreign_cores, 0);
}

TEST(Pressure, IsReadWhereTheKernelOffersIt) {
  const Pressure pressure = read_pressure();
  ASSERT_TRUE(pressure.load1);
  EXPECT_GE(*pressure.load1, 0);
  EXPECT_EQ(pressure.cpu_some_avg10.has_value(), access("/proc/pressure/cpu", R_OK) == 0);
}

}  // namespace
}  // namespace plimsoll::bench
