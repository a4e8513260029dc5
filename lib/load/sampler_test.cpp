#include "lib/load/sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "lib/core/clock.hpp"

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

void spin(Nanoseconds cpu) {
  const Nanoseconds until = thread_cpu_time() + cpu;
  while (thread_cpu_time() < until) {
  }
}

TEST(Sampler, MeasuresOurCpuTimeBetweenTheMarksOnly) {
  auto sampler = Sampler::start({}, 10ms);
  ASSERT_TRUE(sampler) << sampler.error().message;
  spin(100ms);
  sampler->begin_window();
  std::this_thread::sleep_for(50ms);
  spin(200ms);
  sampler->end_window();
  std::this_thread::sleep_for(50ms);
  spin(100ms);
  const auto found = sampler->stop();
  EXPECT_GE(found.own.cpu_seconds, 0.15);
  EXPECT_LT(found.own.cpu_seconds, 0.39);
  EXPECT_GT(found.own.rss.max, 0);
  EXPECT_GE(found.own.rss.samples, 2U);
  EXPECT_GE(found.own.threads.max, 2);
  EXPECT_EQ(found.own.processes_max, 1U);
  EXPECT_GT(found.host.seconds, 0.1);
}

TEST(Sampler, SeesAServersGrowthAndThatItIsAlive) {
  const int pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  auto sampler = Sampler::start({pid}, 5ms);
  ASSERT_TRUE(sampler);
  sampler->begin_window();
  std::this_thread::sleep_for(300ms);
  sampler->end_window();
  const auto found = sampler->stop();
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ASSERT_EQ(found.servers.size(), 1U);
  EXPECT_EQ(found.servers[0].processes_max, 1U);
  EXPECT_GT(found.servers[0].rss.max, 0);
  EXPECT_TRUE(found.gone.empty());
}

TEST(Sampler, TellsThatAServerDied) {
  const int pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  auto sampler = Sampler::start({pid}, 5ms);
  ASSERT_TRUE(sampler);
  sampler->begin_window();
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  sampler->end_window();
  EXPECT_THAT(sampler->stop().gone, ElementsAre(HasSubstr(std::to_string(pid))));
}

TEST(Sampler, SeesCpuUsedByAStrangerButNotByAServer) {
  const int pid =
      ::fork();  // Our child: ours for the host, whether it is named as a server or not.
  if (pid == 0) {
    for (;;) {
    }
  }
  auto sampler = Sampler::start({pid}, 50ms);
  ASSERT_TRUE(sampler);
  sampler->begin_window();
  std::this_thread::sleep_for(1s);
  sampler->end_window();
  const auto found = sampler->stop();
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_GT(found.servers[0].cpu_seconds, 0.1);
  // Others may use the rest of the machine while this runs, but never what the child used.
  const double cores = static_cast<double>(std::thread::hardware_concurrency());
  const double rest = cores - found.servers[0].cpu_seconds / found.host.seconds;
  EXPECT_LE(found.host.foreign_cores, rest + 0.1);
}

TEST(Sampler, AServerThatDoesNotRunIsRefused) {
  const auto sampler = Sampler::start({-5}, 10ms);
  ASSERT_FALSE(sampler);
  EXPECT_EQ(sampler.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(sampler.error().message, HasSubstr("server_pids"));
}

TEST(Sampler, WithoutMarksItFindsNothingAndEnds) {
  auto sampler = Sampler::start({}, 1ms);
  ASSERT_TRUE(sampler);
  const auto found = sampler->stop();
  EXPECT_EQ(found.own.rss.samples, 0U);
  EXPECT_EQ(found.host.seconds, 0);
}

}  // namespace
}  // namespace plimsoll::load
