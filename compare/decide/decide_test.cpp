#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "compare/decide/decide.hpp"
#include "compare/decide/decide_test_support.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::compare {
namespace {

using testing::HasSubstr;

// --- Rows that are no numbers
// ---------------------------------------------------------------------

TEST(Decide, AFailedRunIsNeverAnImprovement) {
  Question question = history(100, 0);
  question.after.front().runs.front().samples.clear();
  question.after.front().runs.front().errors = {"no database"};
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kErrored);
  EXPECT_THAT(only(decide(question)).detail, HasSubstr("no database"));
  EXPECT_EQ(decide(question).exit, Exit::kIncomplete);
}

TEST(Decide, ABenchmarkThatVanishedIsMissingUnlessRetired) {
  Question question = history(100, 100);
  question.after.front().runs.front().name = "g/s/renamed";
  Decision decision = decide(question);
  ASSERT_EQ(decision.findings.size(), 2U);
  EXPECT_EQ(decision.findings[0].verdict, Verdict::kMissing);
  EXPECT_EQ(decision.findings[1].verdict, Verdict::kNew);
  EXPECT_EQ(decision.exit, Exit::kIncomplete);

  question.retired = {"g/s/c"};
  decision = decide(question);
  EXPECT_EQ(decision.findings[0].verdict, Verdict::kRetired);
  EXPECT_EQ(decision.exit, Exit::kOk);
}

TEST(Decide, AFileWithoutRowsIsEmptyAndNoPass) {
  Question question = history(100, 100);
  question.after.front().runs.clear();
  const Decision decision = decide(question);
  EXPECT_EQ(decision.counts[static_cast<std::size_t>(Verdict::kEmpty)], 1U);
  EXPECT_EQ(decision.counts[static_cast<std::size_t>(Verdict::kMissing)], 1U);
  EXPECT_EQ(decision.exit, Exit::kIncomplete);
}

TEST(Decide, AggregatesAloneAreRefusedOnBothSides) {
  for (const bool old_side : {false, true}) {
    Question question = pair({100}, {100});
    auto& only_means = (old_side ? question.before : question.after).front().runs.front();
    only_means.samples.clear();
    only_means.aggregates_only = true;
    EXPECT_EQ(only(decide(question)).verdict, Verdict::kAggregatesOnly);
    EXPECT_EQ(decide(question).exit, Exit::kIncomplete);
  }
}

TEST(Decide, ATimeThatIsNoNumberIsNeverOk) {
  for (const double bad : {kNan, HUGE_VAL, 0.0, -1.0}) {
    EXPECT_EQ(only(decide(history(100, bad))).verdict, Verdict::kNotANumber) << bad;
    EXPECT_EQ(only(decide(pair({100}, {bad}))).verdict, Verdict::kNotANumber) << bad;
  }
}

TEST(Decide, AnOldTimeThatIsNoNumberLeavesNothingToCompareWith) {
  EXPECT_EQ(only(decide(pair({0}, {100}))).verdict, Verdict::kInconclusive);
}

TEST(Decide, ASkippedBenchmarkIsMissingWhereItWasExpected) {
  Question question = history(100, 100);
  question.after.front().runs.front().samples.clear();
  question.after.front().runs.front().skips = {"no AVX"};
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kMissing);
  question.before.clear();
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kNew);
}

TEST(Decide, WhereTheOldSideIsBrokenNothingIsAPass) {
  Question question = pair({100, 100, 100, 100, 100}, {900});
  auto& broken = question.before[2].runs.front();
  broken.errors = {"no database"};
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kErrored) << "one of five is enough";
  EXPECT_EQ(only(decide(question)).reason, Reason::kBaselineFailed);
  EXPECT_EQ(decide(question).exit, Exit::kIncomplete);
  broken.errors.clear();
  broken.skips = {"no AVX"};
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kMissing);
  for (const double bad : {kNan, HUGE_VAL, -HUGE_VAL}) {
    question = pair({100, bad}, {900});
    EXPECT_EQ(only(decide(question)).verdict, Verdict::kNotANumber) << bad;
    EXPECT_EQ(decide(question).exit, Exit::kIncomplete) << bad;
  }
}

// --- As a whole
// -----------------------------------------------------------------------------------

TEST(Decide, AnInterruptedSessionIsNoPassOnEitherSide) {
  for (auto side : {&Question::before, &Question::after}) {
    Question question = pair({100}, {100});
    ASSERT_EQ(decide(question).exit, Exit::kOk);
    (question.*side).front().facts.complete = false;
    const Decision decision = decide(question);
    EXPECT_EQ(decision.exit, Exit::kIncomplete);
    EXPECT_EQ(decision.findings.front().reason, Reason::kInterrupted);
  }
}

TEST(Decide, TheGraverExitWins) {
  const Exit ladder[] = {Exit::kOk, Exit::kInconclusive, Exit::kIncomplete, Exit::kRegression,
                         Exit::kBroken};
  for (std::size_t low = 0; low < 5; ++low) {
    for (std::size_t high = low; high < 5; ++high) {
      EXPECT_EQ(graver(ladder[low], ladder[high]), ladder[high]);
      EXPECT_EQ(graver(ladder[high], ladder[low]), ladder[high]);
    }
  }
}

TEST(Decide, EveryVerdictAndReasonHasItsOwnName) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kVerdicts; ++i) names.insert(name(static_cast<Verdict>(i)));
  EXPECT_EQ(names.size(), kVerdicts);
  names.clear();
  for (int i = 0; i <= static_cast<int>(Reason::kInterrupted); ++i) {
    names.insert(name(static_cast<Reason>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Reason::kInterrupted) + 1);
}

TEST(Decide, SlowerIsNeverJudgedMilder) {
  // Property: making the new side slower never makes the verdict better.
  const auto severity = [](Verdict verdict) {
    return verdict == Verdict::kImproved  ? 0
           : verdict == Verdict::kOk      ? 1
           : verdict == Verdict::kSuspect ? 2
                                          : 3;
  };
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> before;
    std::vector<double> after;
    const std::size_t n = 1 + rng.below(7);
    for (std::size_t i = 0; i < n; ++i) {
      before.push_back(100 * (0.8 + 0.4 * rng.uniform()));
      after.push_back(100 * (0.8 + 0.6 * rng.uniform()));
    }
    int worst = 0;
    for (double factor = 0.5; factor < 3; factor *= 1.17) {
      std::vector<double> slowed = after;
      for (double& value : slowed) value *= factor;
      const int now = severity(only(decide(pair(before, slowed))).verdict);
      EXPECT_GE(now, worst);
      worst = std::max(worst, now);
    }
  }
}

TEST(Decide, AnUnchangedSideIsNeverSlowerThanItself) {
  Rng rng(8);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values;
    for (std::size_t i = 0; i < 1 + rng.below(10); ++i) values.push_back(1 + 1000 * rng.uniform());
    EXPECT_EQ(only(decide(pair(values, values))).verdict, Verdict::kOk);
  }
}

}  // namespace
}  // namespace plimsoll::compare
