#include "lib/load/runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lib/core/statistics.hpp"
#include "lib/load/subject_thread.hpp"
#include "lib/load/test_subjects.hpp"

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Options quick() {
  Options options;
  options.warmup_floor = 20ms;
  options.warmup_cap = 200ms;
  options.window = 200ms;
  return options;
}

Options fixed(std::uint64_t operations) {
  Options options;
  options.fixed_operations = operations;
  return options;
}

Report must_run(const Options& options, SubjectThread& subject, const Operation& operation) {
  auto report = run(options, subject.executor(), operation);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : Report{};
}

TEST(ClosedRun, BalancesAndObeysLittlesLaw) {
  Options options = quick();
  options.concurrency = 4;
  SubjectThread subject;
  const Report report = must_run(options, subject, answer_after_a_millisecond);
  EXPECT_FALSE(report.validity.has(Verdict::kUnbalanced)) << reasons(report);
  EXPECT_GT(report.ledger.ok, 0U);
  EXPECT_GT(report.warmup.ok, 0U);
  EXPECT_EQ(report.ledger.ok, report.ledger.started);
  EXPECT_EQ(report.service.count(), report.ledger.ok);
  EXPECT_GE(report.service.min(), 1ms);
  EXPECT_GT(report.mean_in_flight, 2.0);
  EXPECT_LE(report.mean_in_flight, 4.0001);
  EXPECT_EQ(report.window, 200ms);
  EXPECT_TRUE(report.lag.empty());
  EXPECT_EQ(report.response, report.service);
  EXPECT_GT(report.null_service.count(), 0);
  EXPECT_GT(report.harness_share, 0);
  EXPECT_GT(report.own.cpu_seconds, 0);
}

TEST(ClosedRun, DoesExactlyTheFixedNumberOfOperations) {
  for (const std::size_t concurrency : {1U, 3U, 64U}) {
    Options options = fixed(1001);
    options.concurrency = concurrency;
    SubjectThread subject;
    std::uint64_t calls = 0;
    std::uint64_t sum = 0;
    const Report report =
        must_run(options, subject, [&](OpContext context) -> asio::awaitable<Outcome> {
          ++calls;
          sum += context.sequence;
          EXPECT_LT(context.caller, concurrency);
          co_return Outcome{.items = 3};
        });
    EXPECT_EQ(calls, 1001U);
    EXPECT_EQ(sum, 1000U * 1001U / 2);
    EXPECT_EQ(report.ledger.ok, 1001U);
    EXPECT_EQ(report.completed, 1001U);
    EXPECT_EQ(report.items, 3003U);
    EXPECT_EQ(report.warmup, Ledger{});
    EXPECT_FALSE(report.validity.has(Verdict::kUnbalanced)) << reasons(report);
  }
}

// The middle operation of both, since a thread may be put aside between the two pairs of stamps.
TEST(ClosedRun, ASubjectOfKnownCostReadsBackWithinFivePercent) {
  Options options = fixed(300);
  SubjectThread subject;
  std::vector<double> own;
  const Report report = must_run(options, subject, [&](OpContext) -> asio::awaitable<Outcome> {
    const TimePoint start = Clock::now();
    while (Clock::now() - start < 500us) {
    }
    own.push_back(static_cast<double>((Clock::now() - start).count()));
    co_return Outcome{};
  });
  const auto middle = static_cast<double>(report.service.quantile_raw(0.5).count());
  EXPECT_NEAR(middle / median(own), 1.0, 0.05);
  const auto measured = static_cast<double>(report.service.sum().count());
  const auto window = static_cast<double>(report.window.count());
  EXPECT_GE(window, measured) << "one caller cannot be busy for longer than the run";
}

TEST(ClosedRun, EveryKindOfOutcomeIsCountedAndTheBooksBalance) {
  using Kind = Outcome::Kind;
  SubjectThread subject;
  Options options = fixed(600);
  options.concurrency = 4;
  const Report report =
      must_run(options, subject, [](OpContext context) -> asio::awaitable<Outcome> {
        if (context.sequence % 2 == 0) co_await pause(10us);
        switch (context.sequence % 6) {
          case 0:
            co_return outcome(Kind::kOk);
          case 1:
            co_return outcome(Kind::kBusy);
          case 2:
            co_return outcome(Kind::kFailed, "40001");
          case 3:
            co_return outcome(Kind::kTimeout);
          case 4:
            co_return outcome(Kind::kIndeterminate);
          default:
            throw std::runtime_error("out of luck");
        }
      });
  EXPECT_TRUE(report.ledger.balances()) << *report.ledger.imbalance();
  EXPECT_EQ(report.ledger.ok, 100U);
  EXPECT_EQ(report.ledger.busy, 100U);
  EXPECT_EQ(report.ledger.failed, 200U);
  EXPECT_EQ(report.ledger.timeout, 100U);
  EXPECT_EQ(report.ledger.indeterminate, 100U);
  EXPECT_EQ(report.ledger.failed_by.at("40001"), 100U);
  EXPECT_EQ(report.ledger.failed_by.at("exception"), 100U);
  EXPECT_EQ(report.service.count(), 600U);
  EXPECT_FALSE(report.validity.has(Verdict::kUnbalanced)) << reasons(report);
}

TEST(ClosedRun, AThrowBeforeTheFirstSuspensionIsCountedToo) {
  SubjectThread subject;
  const Report report = must_run(fixed(10), subject, [](OpContext) -> asio::awaitable<Outcome> {
    throw std::logic_error("not a coroutine at all");
  });
  EXPECT_EQ(report.ledger.failed_by.at("exception"), 10U);
}

TEST(ClosedRun, AServerThatCountedDifferentlyMakesItUnbalanced) {
  for (const int injected : {-1, 0, 1}) {
    SubjectThread subject;
    std::atomic<std::uint64_t> served{1000};
    Options options = quick();
    options.server_count = [&, first = true]() mutable -> Result<std::uint64_t> {
      const int extra = first ? 0 : injected;
      first = false;
      return served + static_cast<std::uint64_t>(static_cast<std::int64_t>(extra));
    };
    const Report report = must_run(options, subject, [&](OpContext) -> asio::awaitable<Outcome> {
      co_await pause(1ms);
      ++served;
      co_return Outcome{};
    });
    EXPECT_EQ(report.validity.has(Verdict::kUnbalanced), injected != 0) << reasons(report);
  }
}

TEST(ClosedRun, AServerCountThatFailsStopsTheRunOrSpeaksAgainstIt) {
  SubjectThread subject;
  Options options = fixed(10);
  options.server_count = [] { return Result<std::uint64_t>(fail(Errc::kUnavailable, "gone")); };
  EXPECT_EQ(run(options, subject.executor(), answer_at_once).error().code, Errc::kUnavailable);
  options.server_count = [calls = 0]() mutable -> Result<std::uint64_t> {
    if (calls++ == 0) return 0;
    return fail(Errc::kUnavailable, "gone away");
  };
  const Report report = must_run(options, subject, answer_at_once);
  EXPECT_THAT(reasons(report), HasSubstr("gone away"));
}

TEST(ClosedRun, ASubjectThatNeverEndsDoesNotHangAndIsInFlight) {
  for (const std::uint64_t operations : {0U, 5U}) {
    Options options = quick();
    options.fixed_operations = operations;
    options.concurrency = 3;
    options.drain_limit = 50ms;
    SubjectThread subject;
    const TimePoint start = Clock::now();
    const Report report = must_run(options, subject, [](OpContext) -> asio::awaitable<Outcome> {
      co_await pause(1h);
      co_return Outcome{};
    });
    EXPECT_LT(Clock::now() - start, 30s);
    const Ledger& books = operations == 0 ? report.warmup : report.ledger;
    EXPECT_EQ(books.in_flight, 3U);
    EXPECT_EQ(books.skipped, operations == 0 ? 0U : 2U) << "promised, never started";
    EXPECT_TRUE(books.balances());
    EXPECT_TRUE(report.validity.has(Verdict::kUnbalanced));
    EXPECT_THAT(reasons(report), HasSubstr("3 operations had not ended"));
  }
}

TEST(ClosedRun, AnOperationOpenAtTheEndOfTheDrainIsCancelled) {
  Options options = fixed(1);
  options.drain_limit = 20ms;
  SubjectThread subject;
  bool cancelled = false;
  must_run(options, subject, [&](OpContext) -> asio::awaitable<Outcome> {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, 1h);
    const auto [error] = co_await timer.async_wait(kAsValue);
    cancelled = error == asio::error::operation_aborted;
    co_return Outcome{};
  });
  EXPECT_TRUE(
      subject.call([](bool* seen) -> asio::awaitable<bool> { co_return *seen; }(&cancelled)));
}

TEST(ClosedRun, ASubjectWhoseThreadIsStuckDoesNotHangTheRun) {
  Options options = fixed(1);
  options.drain_limit = 20ms;
  std::atomic<bool> release = false;
  SubjectThread subject;
  const Report report = must_run(options, subject, [&](OpContext) -> asio::awaitable<Outcome> {
    while (!release) std::this_thread::sleep_for(1ms);
    co_return Outcome{};
  });
  EXPECT_EQ(report.ledger.in_flight, 1U);
  release = true;  // It ends only now, into books that are closed, and refers to nothing gone.
}

TEST(ClosedRun, AnExecutorThatNobodyRunsGivesAnEmptyReport) {
  asio::io_context io;
  Options options = quick();
  options.drain_limit = 10ms;
  const auto report = run(options, io.get_executor(), answer_at_once);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->ledger.started, 0U);
  EXPECT_THAT(reasons(*report), HasSubstr("no operation ended"));
}

TEST(ClosedRun, CallersThatNeverSuspendStillTakeTurns) {
  Options options = quick();
  options.concurrency = 4;
  SubjectThread subject;
  std::array<int, 4> calls{};
  must_run(options, subject, [&](OpContext context) -> asio::awaitable<Outcome> {
    ++calls.at(context.caller);
    co_return Outcome{};
  });
  for (const int count : calls) EXPECT_GT(count, 0);
}

TEST(ClosedRun, AServerThatDiesMakesItCrashedAndKeepsTheReport) {
  const int pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  Options options = fixed(50);
  options.server_pids = {pid};
  SubjectThread subject;
  const Report report =
      must_run(options, subject, [&](OpContext context) -> asio::awaitable<Outcome> {
        if (context.sequence == 25) {
          ::kill(pid, SIGKILL);
          // It is not dead before it was scheduled once more; a client would see it no sooner.
          siginfo_t gone{};
          ::waitid(P_PID, static_cast<id_t>(pid), &gone, WEXITED | WNOWAIT);
        }
        co_return context.sequence < 25 ? Outcome{} : outcome(Outcome::Kind::kFailed, "08006");
      });
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(report.validity.verdict, Verdict::kServerCrashed);
  EXPECT_EQ(report.ledger.ok, 25U);
  EXPECT_EQ(report.ledger.failed_by.at("08006"), 25U);
  ASSERT_EQ(report.servers.size(), 1U);
}

TEST(ClosedRun, AThroughputThatDidNotSettleWithinTheCapIsNotSteady) {
  Options options = quick();
  options.warmup_cap = 50ms;
  SubjectThread subject;
  const Report report = must_run(options, subject, [](OpContext) -> asio::awaitable<Outcome> {
    co_await pause(400ms);  // Nothing ends in the warm-up, so nothing can be said.
    co_return Outcome{};
  });
  EXPECT_FALSE(report.steady);
  EXPECT_TRUE(report.validity.has(Verdict::kNotSteady)) << reasons(report);
}

TEST(ClosedRun, BeginsAtTheAbsoluteDeadline) {
  Options options = fixed(1);
  options.start_at = Clock::now() + 300ms;
  SubjectThread subject;
  TimePoint first;
  must_run(options, subject, [&](OpContext) -> asio::awaitable<Outcome> {
    first = Clock::now();
    co_return Outcome{};
  });
  EXPECT_GE(first, options.start_at);
}

void expect_refused(const Options& options, const std::string& word) {
  SubjectThread subject;
  const auto report = run(options, subject.executor(), answer_at_once);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(report.error().message, HasSubstr(word));
}

TEST(Run, AnOptionOutOfRangeIsNamed) {
  Options options;
  options.concurrency = 0;
  expect_refused(options, "concurrency is 0");
  options = {};
  options.warmup_floor = 3s;
  expect_refused(options, "warmup_floor is 3000 ms");
  options = {};
  options.window = 0ms;
  expect_refused(options, "window is 0 ms");
  options = {};
  options.drain_limit = -1ms;
  expect_refused(options, "drain_limit -1 ms");
  options = {};
  options.mode = Mode::kOpenSkip;
  expect_refused(options, "arrivals.rate");
  options = {};
  options.server_pids = {-4};
  expect_refused(options, "server_pids");
}

TEST(Run, AnEmptyOperationOrExecutorIsRefused) {
  SubjectThread subject;
  EXPECT_THAT(run(Options{}, subject.executor(), Operation{}).error().message,
              HasSubstr("operation is empty"));
  EXPECT_THAT(run(Options{}, asio::any_io_executor{}, answer_at_once).error().message,
              HasSubstr("executor is empty"));
}

TEST(Run, FromTheSubjectsOwnThreadIsRefusedInsteadOfHanging) {
  SubjectThread subject;
  const auto refused = subject.call([](SubjectThread* own) -> asio::awaitable<bool> {
    const auto report = run(Options{}, own->executor(), answer_at_once);
    co_return !report && report.error().message.find("own thread") != std::string::npos;
  }(&subject));
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace plimsoll::load
