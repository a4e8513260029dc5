#include "lib/load/tally.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{100s};

Outcome outcome(Outcome::Kind kind, std::string error_kind = {}) {
  Outcome made;
  made.kind = kind;
  made.error_kind = std::move(error_kind);
  return made;
}
const Outcome kOk{};

/// One operation of a closed caller.
void one(Tally& tally, TimePoint from, TimePoint to, const Outcome& ended = kOk) {
  const Flight flight = tally.start(from, from, tally.plan(from));
  tally.finish(flight, ended, to);
}

Report closed(Tally& tally, TimePoint at, Facts& facts) {
  tally.freeze(at);
  Report report;
  tally.fill(report);
  tally.fill(facts);
  return report;
}

TEST(Tally, TellsWarmUpAndWindowApartByTheStart) {
  Tally tally(Mode::kClosed, 0ms);
  one(tally, kStart, kStart + 10ms);
  const Flight across = tally.start(kStart + 15ms, kStart + 15ms, tally.plan(kStart + 15ms));
  tally.open_window(kStart + 20ms, kStart + 120ms);
  tally.finish(across, kOk, kStart + 30ms);
  one(tally, kStart + 30ms, kStart + 60ms);
  one(tally, kStart + 110ms, kStart + 140ms);
  Facts facts;
  const Report report = closed(tally, kStart + 150ms, facts);
  EXPECT_EQ(report.warmup.ok, 2U);
  EXPECT_EQ(report.ledger.ok, 2U);
  EXPECT_EQ(report.service.count(), 2U);
  EXPECT_EQ(report.service.sum(), 60ms);
  EXPECT_EQ(report.window, 100ms);
  EXPECT_EQ(report.completed, 2U) << "what ended inside the window, one begun before it";
}

TEST(Tally, LittlesLawHoldsExactlyAcrossBothEdges) {
  Tally tally(Mode::kClosed, 0ms);
  const Flight head = tally.start(kStart, kStart, tally.plan(kStart));
  tally.open_window(kStart + 10ms, kStart + 110ms);
  tally.finish(head, kOk, kStart + 40ms);     // 30 ms of it inside.
  one(tally, kStart + 40ms, kStart + 90ms);   // 50 ms.
  one(tally, kStart + 90ms, kStart + 500ms);  // 20 ms inside, 390 after.
  Facts facts;
  const Report report = closed(tally, kStart + 600ms, facts);
  EXPECT_DOUBLE_EQ(report.mean_in_flight, 1.0);
  EXPECT_DOUBLE_EQ(facts.mean_in_flight, 4.6);
  EXPECT_DOUBLE_EQ(facts.little_in_flight, 4.6);
  EXPECT_TRUE(judge(facts).valid()) << testing::PrintToString(judge(facts).reasons);
}

TEST(Tally, AnOperationThatEndsTwiceBreaksTheBalance) {
  Tally tally(Mode::kClosed, 0ms);
  tally.open_window(kStart, kStart + 100ms);
  const Flight flight = tally.start(kStart, kStart, tally.plan(kStart));
  one(tally, kStart, kStart + 50ms);
  tally.finish(flight, kOk, kStart + 20ms);
  tally.finish(flight, kOk, kStart + 40ms);
  Facts facts;
  static_cast<void>(closed(tally, kStart + 100ms, facts));
  EXPECT_TRUE(judge(facts).has(Verdict::kUnbalanced));
}

TEST(Tally, AnOperationThatNeverEndsIsInFlightAndSpeaksAgainstTheRun) {
  Tally tally(Mode::kClosed, 0ms);
  tally.open_window(kStart, kStart + 100ms);
  one(tally, kStart, kStart + 50ms);
  const Flight lost = tally.start(kStart + 50ms, kStart + 50ms, tally.plan(kStart + 50ms));
  Facts facts;
  const Report report = closed(tally, kStart + 200ms, facts);
  EXPECT_EQ(report.ledger.in_flight, 1U);
  EXPECT_TRUE(report.ledger.balances());
  EXPECT_TRUE(judge(facts).has(Verdict::kUnbalanced));
  tally.finish(lost, kOk, kStart + 300ms);  // After the books are closed.
  Report after;
  tally.fill(after);
  EXPECT_EQ(after.ledger, report.ledger);
}

TEST(Tally, EveryOutcomeHasItsColumnAndItsLatency) {
  using Kind = Outcome::Kind;
  Tally tally(Mode::kClosed, 0ms);
  tally.open_window(kStart, kStart + 100ms);
  one(tally, kStart, kStart + 1ms);
  one(tally, kStart, kStart + 2ms, outcome(Kind::kBusy));
  one(tally, kStart, kStart + 3ms, outcome(Kind::kFailed, "40001"));
  one(tally, kStart, kStart + 3ms, outcome(Kind::kFailed));
  one(tally, kStart, kStart + 4ms, outcome(Kind::kTimeout));
  one(tally, kStart, kStart + 5ms, outcome(Kind::kIndeterminate));
  Facts facts;
  const Report report = closed(tally, kStart + 100ms, facts);
  EXPECT_TRUE(report.ledger.balances());
  EXPECT_EQ(report.ledger.ok, 1U);
  EXPECT_EQ(report.ledger.busy, 1U);
  EXPECT_EQ(report.ledger.failed, 2U);
  EXPECT_EQ(report.ledger.timeout, 1U);
  EXPECT_EQ(report.ledger.indeterminate, 1U);
  EXPECT_EQ(report.ledger.failed_by.at("40001"), 1U);
  EXPECT_EQ(report.ledger.failed_by.at("unnamed"), 1U);
  EXPECT_EQ(report.service.count(), 6U);
  EXPECT_EQ(report.items, 1U) << "only what was done counts as work";
}

TEST(Tally, AnOpenRunCountsResponseFromThePlanAndServiceFromTheStart) {
  Tally tally(Mode::kOpenCatchUp, 100ms);
  tally.open_window(kStart, kStart + 1s);
  const bool measured = tally.plan(kStart + 10ms);
  const Flight flight = tally.start(kStart + 10ms, kStart + 300ms, measured);
  tally.finish(flight, kOk, kStart + 310ms);
  Facts facts;
  const Report report = closed(tally, kStart + 1s, facts);
  EXPECT_EQ(report.service.max(), 10ms);
  EXPECT_EQ(report.response.max(), 300ms);
  EXPECT_EQ(report.lag.max(), 290ms);
  EXPECT_EQ(report.ledger.late, 1U);
}

TEST(Tally, AWindowOfFixedOperationsEndsWithTheLastOne) {
  Tally tally(Mode::kClosed, 0ms);
  tally.open_window(kStart, TimePoint::max());
  one(tally, kStart, kStart + 30ms);
  one(tally, kStart + 30ms, kStart + 80ms);
  Facts facts;
  const Report report = closed(tally, kStart + 5s, facts);
  EXPECT_EQ(report.window, 80ms);
  EXPECT_DOUBLE_EQ(report.mean_in_flight, 1.0);
  EXPECT_TRUE(judge(facts).valid());
  EXPECT_NEAR(report.operations_per_second(), 25.0, 1e-9);
}

}  // namespace
}  // namespace plimsoll::load
