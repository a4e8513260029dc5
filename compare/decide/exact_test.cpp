#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/decide/decide.hpp"
#include "compare/decide/decide_test_support.hpp"

namespace plimsoll::compare {
namespace {

using Outcome = Confirmation::Outcome;

// ----------------------------------------------------------------

struct CounterRow {
  const char* why;
  const char* metric;
  double before;
  double after;
  Verdict verdict;
  Exit exit;
};

TEST(Decide, WorkCountersAreHeldToTheirTolerance) {
  const CounterRow rows[] = {
      {"equal", "allocs", 3, 3, Verdict::kOk, Exit::kOk},
      {"equal but for rounding", "allocs", 1.0 / 3, 1.0 / 3 + 1e-16, Verdict::kOk, Exit::kOk},
      {"one more", "allocs", 3, 4, Verdict::kExactChanged, Exit::kBroken},
      {"from nothing", "allocs", 0, 1, Verdict::kExactChanged, Exit::kBroken},
      {"fewer", "allocs", 3, 2, Verdict::kImproved, Exit::kOk},
      {"exact means both ways", "rows", 3, 2, Verdict::kExactChanged, Exit::kBroken},
      {"higher is better", "hits", 3, 4, Verdict::kImproved, Exit::kOk},
      {"and lower is worse", "hits", 3, 2, Verdict::kExactChanged, Exit::kBroken},
      {"within its tolerance", "wal", 1000, 1010, Verdict::kOk, Exit::kOk},
      {"beyond it", "wal", 1000, 1011, Verdict::kExactChanged, Exit::kBroken},
      {"not a number", "allocs", 3, kNan, Verdict::kNotANumber, Exit::kIncomplete},
  };
  for (const CounterRow& row : rows) {
    Question question = history(100, 100);
    question.after.front().facts.build_id = "old";  // Counters count even in an equal binary.
    for (Session& each : question.before) each.runs.front().samples[row.metric] = {row.before};
    question.after.front().runs.front().samples[row.metric] = {row.after};
    const Decision decision = decide(question);
    EXPECT_EQ(name(about(decision, row.metric).verdict), name(row.verdict)) << row.why;
    EXPECT_EQ(decision.exit, row.exit) << row.why;
  }
}

/// A recorded session of a build that counted `value`, on the day.
Session counted(const std::string& build, double value, const std::string& date) {
  Session made = session({run(100)}, build);
  made.facts.date = date;
  made.runs.front().samples["allocs"] = {value};
  return made;
}

TEST(Decide, OnlyTheNewestBuildsCountsAreTheOnesToEqual) {
  Question question = history(100, 100);
  question.before = {counted("older", 2, "2026-01-01"), counted("newer", 1, "2026-02-01"),
                     counted("newer", 1.5, "2026-02-02")};
  question.after.front().runs.front().samples["allocs"] = {1.5};
  EXPECT_EQ(about(decide(question), "allocs").verdict, Verdict::kOk) << "it varied in that build";
  question.after.front().runs.front().samples["allocs"] = {2};
  EXPECT_EQ(about(decide(question), "allocs").verdict, Verdict::kExactChanged);
  EXPECT_EQ(about(decide(question), "allocs").before, 1.5);

  // Another class is asked only where this one has never counted it, and then its newest build.
  question.elsewhere = {counted("newest", 2, "2026-03-01"), counted("older", 9, "2026-01-01")};
  EXPECT_EQ(about(decide(question), "allocs").before, 1.5);
  question.before.clear();
  EXPECT_EQ(about(decide(question), "allocs").verdict, Verdict::kOk);
  question.after.front().runs.front().samples["allocs"] = {9};
  EXPECT_EQ(about(decide(question), "allocs").verdict, Verdict::kExactChanged);
}

TEST(Decide, ACounterThatGotWorseInOneSessionGotWorse) {
  for (const char* metric : {"allocs", "hits"}) {
    Question question = history(100, 100);
    for (Session& each : question.before) each.runs.front().samples[metric] = {5};
    question.after = {session({run(100)}), session({run(100)})};
    question.after[0].runs.front().samples[metric] = {4};
    question.after[1].runs.front().samples[metric] = {6};
    EXPECT_EQ(about(decide(question), metric).verdict, Verdict::kExactChanged) << metric;
  }
}

TEST(Decide, ACounterThatIsNoLongerCountedIsMissing) {
  Question question = history(100, 100);
  for (Session& each : question.before) each.runs.front().samples["allocs"] = {5};
  EXPECT_EQ(about(decide(question), "allocs").verdict, Verdict::kMissing);
  EXPECT_EQ(decide(question).exit, Exit::kIncomplete);
}

TEST(Decide, NothingIsGuessedAboutACounterThatNoTableNames) {
  Question question = history(100, 100);
  for (Session& each : question.before) each.runs.front().samples["odd"] = {5};
  question.after.front().runs.front().samples["odd"] = {kNan};
  EXPECT_EQ(only(decide(question)).metric, "cpu_time");
}

TEST(Decide, ABrokenInvariantIsGraverThanEverything) {
  Question question = history(100, 300);
  question.confirmations = {{"g/s/c", "cpu_time", Outcome::kRegressed, 3, 2, 4, 0, 12, ""}};
  question.after.front().runs.front().invariants["lost"] = {1, 0};
  const Decision decision = decide(question);
  EXPECT_EQ(about(decision, "lost").verdict, Verdict::kInvariantBroken);
  EXPECT_EQ(about(decision, "lost").after, 1);
  EXPECT_EQ(about(decision, "cpu_time").verdict, Verdict::kConfirmed);
  EXPECT_EQ(decision.exit, Exit::kBroken);
}

TEST(Decide, AnInvariantBreaksEvenInARunThatFailedOrIsNotValid) {
  Question question = history(100, 100);
  auto& fresh = question.after.front().runs.front();
  fresh.invariants["lost"] = {1, 0};
  fresh.samples.clear();
  fresh.errors = {"invariant lost: 1"};
  fresh.validity = Validity::kHostContended;
  const Decision decision = decide(question);
  EXPECT_EQ(about(decision, "lost").verdict, Verdict::kInvariantBroken);
  EXPECT_EQ(about(decision, "").verdict, Verdict::kErrored);
  EXPECT_EQ(decision.exit, Exit::kBroken);
}

TEST(Decide, AnInvariantThatIsNoLongerCountedIsMissing) {
  Question question = history(100, 100);
  question.before.back().runs.front().invariants["lost"] = {0, 0};
  EXPECT_EQ(about(decide(question), "lost").verdict, Verdict::kMissing);
}

TEST(Decide, AnInvariantThatIsNotANumberIsBroken) {
  Question question = history(100, 100);
  question.after.front().runs.front().invariants["lost"] = {kNan, 0};
  EXPECT_EQ(decide(question).exit, Exit::kBroken);
}

TEST(Decide, AnOldCounterThatIsNoNumberIsNoPass) {
  Question question = pair({100}, {100});
  question.before.front().runs.front().samples["rows"] = {kNan};
  question.after.front().runs.front().samples["rows"] = {5};
  EXPECT_EQ(about(decide(question), "rows").verdict, Verdict::kNotANumber);
  EXPECT_EQ(decide(question).exit, Exit::kIncomplete);
}

}  // namespace
}  // namespace plimsoll::compare
