#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"
#include "lib/load/test_subjects.hpp"

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

Options open(Mode mode, double rate, std::size_t cap) {
  Options options;
  options.mode = mode;
  options.arrivals.rate = rate;
  options.concurrency = cap;
  options.warmup_cap = options.warmup_floor = 0ms;
  options.window = 500ms;
  return options;
}

Report must_run(const Options& options, SubjectThread& subject, const Operation& operation) {
  auto report = run(options, subject.executor(), operation);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : Report{};
}

TEST(OpenRun, OffersExactlyWhatThePlanHoldsForTheWindow) {
  SubjectThread subject;
  const Report report =
      must_run(open(Mode::kOpenCatchUp, 1000, 100), subject, answer_after_a_millisecond);
  EXPECT_EQ(report.ledger.planned, 500U);
  EXPECT_EQ(report.ledger.ok, 500U);
  EXPECT_EQ(report.response.count(), 500U);
  EXPECT_EQ(report.lag.count(), 500U);
  EXPECT_GE(report.response.sum(), report.service.sum());
  EXPECT_GE(report.service.min(), 1ms);
  EXPECT_TRUE(report.ledger.balances());
  EXPECT_FALSE(report.validity.has(Verdict::kUnbalanced)) << reasons(report);
}

TEST(OpenRun, APlanThatRunsOutEarlyDoesNotEndTheWindow) {
  Options options = open(Mode::kOpenCatchUp, 2, 1);  // At 0 ms; the next would be at 500.
  options.window = 400ms;
  SubjectThread subject;
  const TimePoint start = Clock::now();
  const Report report = must_run(options, subject, answer_at_once);
  EXPECT_GE(Clock::now() - start, 400ms);
  EXPECT_EQ(report.ledger.planned, 1U);
  EXPECT_GE(report.host.seconds, 0.3);
}

TEST(OpenRun, TheSumOfLagAndServiceIsTheResponse) {
  SubjectThread subject;
  const Report report =
      must_run(open(Mode::kOpenCatchUp, 500, 10), subject, answer_after_a_millisecond);
  EXPECT_EQ(report.lag.sum() + report.service.sum(), report.response.sum());
}

/// Answers at once, but for 500 ms from 300 ms after its first request on.
struct FreezingServer {
  asio::awaitable<Outcome> answer() {
    const TimePoint now = Clock::now();
    if (first == TimePoint{}) first = now;
    const TimePoint freeze = first + 300ms;
    if (now >= freeze && now < freeze + 500ms) co_await pause(freeze + 500ms - now);
    co_return Outcome{};
  }
  TimePoint first{};
};

TEST(OpenRun, AFreezeOfTheServerShowsInTheResponseAndNotOnlyInOneServiceTime) {
  Options options = open(Mode::kOpenCatchUp, 2000, 1);  // One connection: the rest has to wait.
  options.window = 1500ms;
  FreezingServer server;
  SubjectThread subject;
  const Report report = must_run(options, subject, [&](OpContext) -> asio::awaitable<Outcome> {
    auto answered = co_await server.answer();
    co_return answered;
  });
  EXPECT_EQ(report.ledger.ok, 3000U);
  const auto p99 = report.response.quantile(0.99);
  ASSERT_TRUE(p99);
  EXPECT_GE(*p99, 400ms);
  EXPECT_LT(report.service.quantile_raw(0.5), 50ms);
  EXPECT_LT(report.service.quantile_raw(0.99), 400ms) << "what a closed loop would have shown";
}

TEST(OpenRun, AClosedRunAgainstTheSameFreezeHidesIt) {
  Options options;  // The negative control of the test above.
  options.fixed_operations = 3000;
  FreezingServer server;
  SubjectThread subject;
  const Report report = must_run(options, subject, [&](OpContext) -> asio::awaitable<Outcome> {
    co_await pause(100us);
    auto answered = co_await server.answer();
    co_return answered;
  });
  EXPECT_LT(report.response.quantile_raw(0.99), 400ms);
}

TEST(OpenRun, SkipGivesUpWhatIsTooLateAndCountsItAndCatchUpDoesNot) {
  for (const Mode mode : {Mode::kOpenSkip, Mode::kOpenCatchUp}) {
    Options options = open(mode, 1000, 1);
    options.late_limit = 20ms;
    SubjectThread subject;
    const Report report =
        must_run(options, subject, [](OpContext context) -> asio::awaitable<Outcome> {
          if (context.sequence == 50) co_await pause(200ms);
          co_return Outcome{};
        });
    EXPECT_EQ(report.ledger.planned, 500U);
    EXPECT_TRUE(report.ledger.balances());
    EXPECT_FALSE(report.validity.has(Verdict::kUnbalanced)) << reasons(report);
    if (mode == Mode::kOpenSkip) {
      EXPECT_GE(report.ledger.skipped, 150U);
      EXPECT_EQ(report.ledger.late, 0U);
      EXPECT_LE(report.lag.max(), options.late_limit);
    } else {
      EXPECT_EQ(report.ledger.skipped, 0U);
      EXPECT_EQ(report.ledger.ok, 500U);
      EXPECT_GE(report.ledger.late, 150U);
    }
    EXPECT_TRUE(report.validity.has(Verdict::kGeneratorLimited)) << "the cap held it up";
    EXPECT_THAT(reasons(report), HasSubstr("in-flight cap"));
  }
}

TEST(OpenRun, NeverMoreThanTheCapIsInFlight) {
  Options options = open(Mode::kOpenCatchUp, 5000, 7);
  options.window = 200ms;
  SubjectThread subject;
  std::size_t now = 0;
  std::size_t most = 0;
  std::vector<bool> taken(7);
  const Report report =
      must_run(options, subject, [&](OpContext context) -> asio::awaitable<Outcome> {
        EXPECT_FALSE(taken.at(context.caller)) << "two operations in one slot";
        taken.at(context.caller) = true;
        most = std::max(most, ++now);
        co_await pause(2ms);
        --now;
        taken.at(context.caller) = false;
        co_return Outcome{};
      });
  EXPECT_EQ(most, 7U);
  EXPECT_EQ(report.ledger.ok, 1000U);
  EXPECT_GT(report.cap_hits, 500U);
}

TEST(OpenRun, AGeneratorPushedPastItsCapacitySaysSo) {
  Options options = open(Mode::kOpenCatchUp, 2e7, 1000);
  options.window = 100ms;
  options.drain_limit = 10ms;
  SubjectThread subject;
  const Report report = must_run(options, subject, answer_at_once);
  EXPECT_TRUE(report.validity.has(Verdict::kGeneratorLimited)) << reasons(report);
  EXPECT_TRUE(report.ledger.balances()) << *report.ledger.imbalance();
  EXPECT_EQ(report.ledger.planned, 2'000'000U);
  EXPECT_GT(report.ledger.skipped, 0U) << "left when the drain limit was reached";
}

TEST(OpenRun, ALateGeneratorIsToldFromAReachedCap) {
  // The cap is out of reach, so that only the pacer can be late; it has 500 ns an arrival.
  Options options = open(Mode::kOpenCatchUp, 2e6, 200'000);
  options.window = 20ms;
  SubjectThread subject;
  const Report late = must_run(options, subject, answer_at_once);
  EXPECT_GT(late.lag.max(), 5ms);
  EXPECT_TRUE(late.validity.has(Verdict::kGeneratorLimited)) << reasons(late);
  EXPECT_THAT(reasons(late), Not(HasSubstr("in-flight cap")));
}

TEST(OpenRun, ASlowSubjectThreadIsNotBlamedOnTheGenerator) {
  Options options = open(Mode::kOpenCatchUp, 100, 100);
  SubjectThread subject;
  const Report report =
      must_run(options, subject, [](OpContext context) -> asio::awaitable<Outcome> {
        if (context.sequence == 5) std::this_thread::sleep_for(250ms);  // Blocks its own thread.
        co_return Outcome{};
      });
  EXPECT_GE(report.lag.max(), 150ms);
  EXPECT_EQ(report.cap_hits, 0U);
  EXPECT_LT(report.pacer_lag_p99, report.lag.max());
}

TEST(OpenRun, FixedOperationsAreExactlySoMany) {
  for (const Mode mode : {Mode::kOpenSkip, Mode::kOpenCatchUp}) {
    Options options = open(mode, 20'000, 3);
    options.arrivals.law = Arrivals::Law::kPoisson;
    options.fixed_operations = 777;
    options.late_limit = 10s;
    SubjectThread subject;
    const Report report = must_run(options, subject, answer_at_once);
    EXPECT_EQ(report.ledger.planned, 777U);
    EXPECT_EQ(report.ledger.ok, 777U);
  }
}

TEST(OpenRun, ASubjectThatNeverEndsDoesNotHangAndEveryArrivalIsAccountedFor) {
  for (const Mode mode : {Mode::kOpenSkip, Mode::kOpenCatchUp}) {
    Options options = open(mode, 1000, 5);
    options.window = 100ms;
    options.drain_limit = 50ms;
    SubjectThread subject;
    const Report report = must_run(options, subject, [](OpContext) -> asio::awaitable<Outcome> {
      co_await pause(1h);
      co_return Outcome{};
    });
    EXPECT_EQ(report.ledger.planned, 100U);
    EXPECT_EQ(report.ledger.in_flight, 5U);
    EXPECT_EQ(report.ledger.skipped, 95U);
    EXPECT_TRUE(report.ledger.balances());
    EXPECT_TRUE(report.validity.has(Verdict::kUnbalanced));
  }
}

TEST(OpenRun, AStuckSubjectThreadLeavesWhatWasHandedOverAsSkipped) {
  Options options = open(Mode::kOpenCatchUp, 1000, 50);
  options.window = 50ms;
  options.drain_limit = 20ms;
  std::atomic<bool> release = false;
  SubjectThread subject;
  const Report report = must_run(options, subject, [&](OpContext) -> asio::awaitable<Outcome> {
    while (!release) std::this_thread::sleep_for(1ms);
    co_return Outcome{};
  });
  EXPECT_EQ(report.ledger.planned, 50U);
  EXPECT_EQ(report.ledger.in_flight, 1U);
  EXPECT_EQ(report.ledger.skipped, 49U);
  EXPECT_TRUE(report.ledger.balances());
  release = true;
}

TEST(OpenRun, AWarmUpWithABacklogIsNotSteady) {
  Options options = open(Mode::kOpenCatchUp, 2000, 1);
  options.warmup_floor = 50ms;
  options.warmup_cap = 300ms;
  options.window = 50ms;
  options.late_limit = 10ms;
  SubjectThread subject;
  const Report report = must_run(options, subject, answer_after_a_millisecond);
  EXPECT_TRUE(report.validity.has(Verdict::kNotSteady)) << reasons(report);
  EXPECT_TRUE(report.ledger.balances());
  EXPECT_TRUE(report.warmup.balances());
}

}  // namespace
}  // namespace plimsoll::load
