#include "lib/load/runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "lib/core/with_timeout.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

asio::awaitable<void> pause(Nanoseconds length) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, length);
  const auto [error] = co_await timer.async_wait(kAsValue);
  static_cast<void>(error);
}

asio::awaitable<Outcome> answer_after_a_millisecond(OpContext) {
  co_await pause(1ms);
  co_return Outcome{};
}

Options quick_closed() {
  Options options;
  options.warmup_floor = 20ms;
  options.warmup_cap = 200ms;
  options.window = 200ms;
  return options;
}

TEST(ClosedRun, BalancesAndObeysLittlesLaw) {
  Options options = quick_closed();
  options.concurrency = 4;
  SubjectThread subject;
  const auto report = run(options, subject.executor(), answer_after_a_millisecond);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->validity.has(Verdict::kUnbalanced))
      << testing::PrintToString(report->validity.reasons);
  EXPECT_GT(report->ledger.ok, 0U);
  EXPECT_EQ(report->ledger.ok, report->ledger.started);
  EXPECT_EQ(report->service.count(), report->ledger.ok);
  EXPECT_GE(report->service.min(), 1ms);
  EXPECT_GT(report->mean_in_flight, 3.0);
  EXPECT_LE(report->mean_in_flight, 4.0);
  EXPECT_GE(report->window, 200ms);
  EXPECT_TRUE(report->lag.empty());
  EXPECT_EQ(report->response, report->service);
}

}  // namespace
}  // namespace plimsoll::load
