#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"
#include "lib/load/test_subjects.hpp"

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;

/// One of `ranks` generators of a plan of 1000 arrivals a second, for half a second.
Report rank_of(std::uint32_t rank, std::uint32_t ranks, TimePoint start) {
  Options options;
  options.mode = Mode::kOpenCatchUp;
  options.concurrency = 50;
  options.arrivals = {Arrivals::Law::kPoisson, 1000, rank, ranks};
  options.warmup_floor = options.warmup_cap = 0ms;
  options.window = 500ms;
  options.start_at = start;
  SubjectThread subject;
  const auto report = run(options, subject.executor(), answer_at_once);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : Report{};
}

TEST(Merge, TwoRanksOfferWhatOneGeneratorOffers) {
  const Report whole = rank_of(0, 1, {});
  const auto both = merge(rank_of(0, 2, {}), rank_of(1, 2, {}));
  ASSERT_TRUE(both);
  EXPECT_EQ(both->ledger.planned, whole.ledger.planned);
  EXPECT_EQ(both->response.count(), whole.response.count());
  EXPECT_TRUE(both->ledger.balances());
}

TEST(Merge, AddsCountsAndKeepsTheGraverVerdict) {
  Report a;
  a.window = 2s;
  a.completed = 10;
  a.items = 20;
  a.ledger.planned = a.ledger.started = a.ledger.ok = 10;
  a.service.record(1ms);
  a.own.rss.max = 5;
  a.null_service = 100ns;
  Report b = a;
  b.window = 1s;
  b.ledger.planned = b.ledger.started = b.ledger.ok = 30;
  b.service.record(3ms);
  b.own.rss.max = 7;
  b.own.cpu_seconds = 1.5;
  b.null_service = 200ns;
  b.servers.emplace_back();
  b.validity.add(Verdict::kHostContended, "busy");
  const auto sum = merge(a, b);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->window, 2s);
  EXPECT_EQ(sum->ledger.ok, 40U);
  EXPECT_EQ(sum->service.count(), 3U);
  EXPECT_DOUBLE_EQ(sum->operations_per_second(), 10.0);
  EXPECT_DOUBLE_EQ(sum->items_per_second(), 20.0);
  EXPECT_EQ(sum->own.rss.max, 7);
  EXPECT_DOUBLE_EQ(sum->own.cpu_seconds, 1.5);
  EXPECT_EQ(sum->null_service, 175ns);
  EXPECT_EQ(sum->servers.size(), 1U);
  EXPECT_EQ(sum->validity.verdict, Verdict::kHostContended);
}

TEST(Merge, ReportsOfDifferentModesAreRefused) {
  Report open;
  open.mode = Mode::kOpenSkip;
  const auto sum = merge(Report{}, open);
  ASSERT_FALSE(sum);
  EXPECT_EQ(sum.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(sum.error().message, testing::HasSubstr("open-skip"));
}

TEST(Report, AnEmptyWindowHasNoThroughput) { EXPECT_EQ(Report{}.operations_per_second(), 0.0); }

}  // namespace
}  // namespace plimsoll::load
