#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "compare/decide/decide.hpp"
#include "compare/decide/decide_test_support.hpp"

namespace plimsoll::compare {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Outcome = Confirmation::Outcome;

// --- Times against recorded sessions
// --------------------------------------------------------------

struct HistoryRow {
  const char* why;
  double before;
  double after;
  std::size_t recorded;
  Resource resource;
  Verdict verdict;
  Reason reason;
  Exit exit;
};

TEST(Decide, RecordedTimesMakeSuspectsAndNeverMore) {
  const HistoryRow rows[] = {
      {"no change", 100, 100, 8, Resource::kCpu, Verdict::kOk, Reason::kWithinEffect, Exit::kOk},
      {"the floor itself is no change", 100, 105, 8, Resource::kCpu, Verdict::kOk,
       Reason::kWithinEffect, Exit::kOk},
      {"just above the floor", 100, 105.01, 8, Resource::kCpu, Verdict::kSuspect, Reason::kScreened,
       Exit::kInconclusive},
      {"ten times slower", 100, 1000, 8, Resource::kCpu, Verdict::kSuspect, Reason::kScreened,
       Exit::kInconclusive},
      {"faster within the floor", 100, 96, 8, Resource::kCpu, Verdict::kOk, Reason::kWithinEffect,
       Exit::kOk},
      {"faster", 100, 90, 8, Resource::kCpu, Verdict::kImproved, Reason::kScreened, Exit::kOk},
      {"seven sessions do not screen", 100, 100, 7, Resource::kCpu, Verdict::kSuspect,
       Reason::kUnscreened, Exit::kInconclusive},
      {"a database is never screened", 100, 100, 20, Resource::kDb, Verdict::kSuspect,
       Reason::kUnscreened, Exit::kInconclusive},
      {"nor is the disk", 100, 100, 20, Resource::kIo, Verdict::kSuspect, Reason::kUnscreened,
       Exit::kInconclusive},
  };
  for (const HistoryRow& row : rows) {
    const Decision decision = decide(history(row.before, row.after, row.recorded, row.resource));
    const Finding found = only(decision);
    EXPECT_EQ(found.metric, gating_clock(row.resource)) << row.why;
    EXPECT_EQ(name(found.verdict), name(row.verdict)) << row.why;
    EXPECT_EQ(name(found.reason), name(row.reason)) << row.why;
    EXPECT_EQ(decision.exit, row.exit) << row.why;
  }
}

TEST(Decide, FreshPairsSettleASuspect) {
  struct Row {
    Outcome outcome;
    Verdict verdict;
    Exit exit;
  };
  const Row rows[] = {{Outcome::kRegressed, Verdict::kConfirmed, Exit::kRegression},
                      {Outcome::kImproved, Verdict::kImproved, Exit::kOk},
                      {Outcome::kSame, Verdict::kOk, Exit::kOk},
                      {Outcome::kUndecided, Verdict::kInconclusive, Exit::kInconclusive},
                      {Outcome::kUnchangedBinary, Verdict::kUnchangedBinary, Exit::kOk},
                      {Outcome::kFailed, Verdict::kErrored, Exit::kIncomplete}};
  for (const Row& row : rows) {
    Question question = history(100, 130, 8, Resource::kDb);
    EXPECT_THAT(suspects(decide(question)), ElementsAre("g/s/c"));
    question.confirmations = {
        {"g/s/c", "real_time", row.outcome, 1.3, 1.2, 1.4, 0.0001, 24, "as the pairs say"}};
    const Decision decision = decide(question);
    EXPECT_EQ(name(only(decision).verdict), name(row.verdict));
    EXPECT_EQ(only(decision).pairs, 24U);
    EXPECT_EQ(decision.exit, row.exit);
    EXPECT_THAT(suspects(decision), IsEmpty());
  }
}

TEST(Decide, AGroupThatIsSlowerAsAWholeIsARegression) {
  Question question = history(100, 130);
  question.confirmations = {
      {"g/s/c", "cpu_time", Outcome::kUndecided, 1.1, 0.9, 1.2, 0.2, 16, ""},
      {"g/*", "cpu_time", Outcome::kRegressed, 1.1, 1.08, 1.12, 1e-9, 320, "together", "g", 20},
      {"h/*", "cpu_time", Outcome::kRegressed, 1.1, 1.08, 1.12, 1e-9, 320, "together", "h", 20}};
  const Decision decision = decide(question);
  ASSERT_EQ(decision.findings.size(), 2U) << "of another group nothing is said here";
  EXPECT_EQ(decision.findings[0].benchmark, "g/*");
  EXPECT_EQ(decision.findings[0].verdict, Verdict::kConfirmed);
  EXPECT_EQ(decision.findings[1].verdict, Verdict::kInconclusive);
  EXPECT_EQ(decision.exit, Exit::kRegression);
}

TEST(Decide, PairsThatFailedBeforeTheyKnewTheClockAreSaid) {
  Question question = history(100, 130);
  question.confirmations = {{"g/s/c", "", Outcome::kFailed, 1, 1, 1, 1, 0, "base: exit 3"}};
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kErrored);
  EXPECT_EQ(only(decide(question)).detail, "base: exit 3");
  question.confirmations.front().outcome = Outcome::kUndecided;
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kInconclusive);
}

TEST(Decide, AConfirmationOfAnotherBenchmarkSettlesNothing) {
  Question question = history(100, 130);
  question.confirmations = {{"g/s/other", "cpu_time", Outcome::kSame, 1, 1, 1, 1, 12, ""}};
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kSuspect);
}

TEST(Decide, EqualMachineCodeCannotHaveChangedItsTimes) {
  Question question = history(100, 300);
  question.after.front().facts.build_id = "old";
  const Decision decision = decide(question);
  EXPECT_EQ(only(decision).verdict, Verdict::kUnchangedBinary);
  EXPECT_EQ(only(decision).ratio, 3) << "it is listed with its numbers all the same";
  EXPECT_EQ(decision.exit, Exit::kOk);
}

TEST(Decide, AnUnknownBuildIsNotAnUnchangedOne) {
  Question question = history(100, 300);
  for (Session& each : question.before) each.facts.build_id.clear();
  question.after.front().facts.build_id.clear();
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kSuspect);
}

TEST(Decide, TheNewestRecordingIsTheOneToEqual) {
  Question question = history(100, 300);
  question.before.front().facts.build_id = "new";  // It once was this binary, but no longer is.
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kSuspect);
}

TEST(Decide, OnlyTheNewestSessionsAreTheBaseline) {
  Question question = history(500, 100);
  for (int i = 0; i < 20; ++i) question.before.push_back(session({run(100)}, "old"));
  EXPECT_EQ(only(decide(question)).before, 100);
  EXPECT_EQ(only(decide(question)).before_n, 20U);
}

TEST(Decide, WithoutABaselineTimesAreAcceptedAndCountersAreNot) {
  Question question;
  auto reference = run(1);
  reference.samples["allocs"] = {2};
  question.elsewhere = {session({reference}, "old")};
  auto fresh = run(1000);
  fresh.samples["allocs"] = {2};
  question.after = {session({fresh})};
  EXPECT_EQ(about(decide(question), "cpu_time").verdict, Verdict::kNoBaseline);
  EXPECT_EQ(decide(question).exit, Exit::kOk);

  question.after.front().runs.front().samples["allocs"] = {3};
  EXPECT_EQ(about(decide(question), "allocs").verdict, Verdict::kExactChanged);
  EXPECT_EQ(decide(question).exit, Exit::kBroken);
}

TEST(Decide, APercentileThatSomeRunsLackIsJudgedByTheOthers) {
  Question question = history(100, 100);
  const auto give = [](Session& to, double value) {
    to.metrics["p99"] = {"us", Better::kLower, MetricClass::kTime, 0.25, 0};
    to.runs.front().samples["p99"] = {value};
  };
  for (Session& each : question.before) give(each, 10);
  question.after.push_back(session({run(100)}));
  give(question.after.back(), 20);
  EXPECT_EQ(about(decide(question), "p99").verdict, Verdict::kSuspect);

  // Only some repetitions had enough samples for it.
  question.after.back().runs.front().samples["p99"] = {20, kNan};
  question.after.back().runs.front().partial = {"p99"};
  EXPECT_EQ(about(decide(question), "p99").verdict, Verdict::kInconclusive);
  EXPECT_EQ(about(decide(question), "p99").reason, Reason::kMetricAbsent);

  for (Session& each : question.after) each.facts.build_id = "old";
  EXPECT_EQ(about(decide(question), "p99").verdict, Verdict::kUnchangedBinary);
}

TEST(Decide, AnUngatedTimeIsNotJudged) {
  Question question = history(100, 300);
  question.after.front().runs.front().gate = false;
  EXPECT_EQ(only(decide(question)).reason, Reason::kNotGated);
  EXPECT_EQ(decide(question).exit, Exit::kOk);
}

TEST(Decide, ARunThatIsNotValidIsNotJudgedButMayBePaired) {
  Question question = history(100, 100);
  question.after.front().runs.front().validity = Validity::kHostContended;
  const Decision decision = decide(question);
  EXPECT_EQ(only(decision).verdict, Verdict::kInconclusive);
  EXPECT_EQ(only(decision).reason, Reason::kNotValid);
  EXPECT_EQ(decision.exit, Exit::kInconclusive);
  EXPECT_THAT(suspects(decision), ElementsAre("g/s/c"));

  question.after.push_back(session({run(100)}));
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kOk) << "the valid session is believed";
}

TEST(Decide, WhatPairsSayOfTheClockHoldsForTheRatesOfARunThatIsNotValid) {
  Question question = history(100, 100);
  for (auto* side : {&question.before, &question.after}) {
    for (Session& each : *side) {
      each.metrics["items_per_second"] = {"/s", Better::kHigher, MetricClass::kTime, 0.05, 0};
      each.runs.front().samples["items_per_second"] = {1000};
    }
  }
  question.after.front().runs.front().validity = Validity::kHostContended;
  EXPECT_EQ(about(decide(question), "items_per_second").verdict, Verdict::kInconclusive);
  question.confirmations = {{"g/s/c", "cpu_time", Outcome::kSame, 1, 1, 1, 1, 12, ""}};
  EXPECT_EQ(about(decide(question), "items_per_second").verdict, Verdict::kOk);
  EXPECT_EQ(decide(question).exit, Exit::kOk);
  question.confirmations.front().outcome = Outcome::kRegressed;
  EXPECT_EQ(about(decide(question), "items_per_second").verdict, Verdict::kSuspect);
  question.confirmations.front().outcome = Outcome::kUndecided;
  EXPECT_EQ(about(decide(question), "items_per_second").verdict, Verdict::kInconclusive);
}

TEST(Decide, ARunThatCannotBeBelievedAtAllIsAnError) {
  for (const Validity validity : {Validity::kServerCrashed, Validity::kUnbalanced}) {
    Question question = history(100, 100);
    question.after.front().facts.build_id = "old";
    question.after.front().runs.front().validity = validity;
    EXPECT_EQ(only(decide(question)).verdict, Verdict::kErrored);
    EXPECT_EQ(decide(question).exit, Exit::kIncomplete);
  }
}

// --- Two sets of files
// ----------------------------------------------------------------------------

struct PairRow {
  const char* why;
  std::vector<double> before;
  std::vector<double> after;
  Verdict verdict;
  Reason reason;
  Exit exit;
};

TEST(Decide, TwoFilesTurnRedOnlyOnStrongEvidence) {
  const PairRow rows[] = {
      {"no change", {100}, {100}, Verdict::kOk, Reason::kWithinEffect, Exit::kOk},
      {"one file a side is a suspicion",
       {100},
       {120},
       Verdict::kSuspect,
       Reason::kFewSamples,
       Exit::kInconclusive},
      {"+50 % itself is one too",
       {100},
       {150},
       Verdict::kSuspect,
       Reason::kFewSamples,
       Exit::kInconclusive},
      {"beyond +50 % is outright",
       {100},
       {150.1},
       Verdict::kConfirmed,
       Reason::kOutright,
       Exit::kRegression},
      {"four sessions are too few",
       {100, 101, 102, 103},
       {120, 121, 122, 123},
       Verdict::kSuspect,
       Reason::kFewSamples,
       Exit::kInconclusive},
      {"five against five, apart",
       {100, 101, 102, 103, 104},
       {120, 121, 122, 123, 124},
       Verdict::kConfirmed,
       Reason::kRankSum,
       Exit::kRegression},
      {"five against five, mixed",
       {100, 101, 130, 131, 104},
       {112, 113, 103, 140, 114},
       Verdict::kSuspect,
       Reason::kNotSignificant,
       Exit::kInconclusive},
      {"apart but within the floor",
       {100, 101, 102, 103, 104},
       {105, 106, 107, 107, 107},
       Verdict::kOk,
       Reason::kWithinEffect,
       Exit::kOk},
      {"better", {100}, {50}, Verdict::kImproved, Reason::kScreened, Exit::kOk},
  };
  for (const PairRow& row : rows) {
    const Decision decision = decide(pair(row.before, row.after));
    EXPECT_EQ(name(only(decision).verdict), name(row.verdict)) << row.why;
    EXPECT_EQ(name(only(decision).reason), name(row.reason)) << row.why;
    EXPECT_EQ(decision.exit, row.exit) << row.why;
  }
}

TEST(Decide, RepetitionsCountOnlyWhereTheyWereInterleaved) {
  Question question = pair({100}, {120});
  auto& before = question.before.front().runs.front();
  auto& after = question.after.front().runs.front();
  for (int i = 0; i < 10; ++i) {
    before.samples["cpu_time"].push_back(101 + i);
    after.samples["cpu_time"].push_back(121 + i);
  }
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kSuspect);
  question.interleaved = true;
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kConfirmed);
  question.interleaved = false;
  before.interleaved = after.interleaved = true;
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kConfirmed);
  before.samples["cpu_time"].resize(9);
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kSuspect) << "nine are too few";
}

TEST(Decide, APlainRowIsJudgedByBothClocks) {
  Question question = pair({100}, {100});
  for (auto* side : {&question.before, &question.after}) {
    side->front().runs.front().resource = Resource::kUnknown;
    side->front().metrics = default_metrics();
  }
  question.after.front().runs.front().samples["real_time"] = {200};  // It sleeps.
  EXPECT_EQ(about(decide(question), "cpu_time").verdict, Verdict::kOk);
  EXPECT_EQ(about(decide(question), "real_time").verdict, Verdict::kConfirmed);
}

TEST(Decide, ThroughputIsWorseWhenItFalls) {
  Question question = pair({100}, {100});
  for (auto* side : {&question.before, &question.after}) {
    side->front().metrics = default_metrics();
    side->front().runs.front().samples["items_per_second"] = {1000};
  }
  question.after.front().runs.front().samples["items_per_second"] = {600};
  EXPECT_EQ(about(decide(question), "items_per_second").verdict, Verdict::kConfirmed);
  question.after.front().runs.front().samples["items_per_second"] = {2000};
  EXPECT_EQ(about(decide(question), "items_per_second").verdict, Verdict::kImproved);
}

TEST(Decide, OneBinaryOnTwoInfrastructuresIsCompared) {
  Question question = pair({100}, {200});
  question.before.front().facts.build_id = "new";
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kUnchangedBinary);
  question.before.front().facts.settings_hash = "postgres=15";
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kConfirmed);
}

TEST(Decide, TwoSizesAreNotCompared) {
  Question question = pair({100}, {200});
  question.before.front().facts.size = "full";
  question.after.front().facts.size = "short";
  EXPECT_EQ(only(decide(question)).reason, Reason::kOtherClass);
}

TEST(Decide, TwoMachineClassesAreNotCompared) {
  Question question = pair({100}, {200});
  question.before.front().facts.machine_class = "another";
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kInconclusive);
  EXPECT_EQ(only(decide(question)).reason, Reason::kOtherClass);
}

}  // namespace
}  // namespace plimsoll::compare
