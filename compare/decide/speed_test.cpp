// Times against those of a machine that ran at another speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "compare/decide/decide.hpp"
#include "compare/decide/decide_test_support.hpp"

namespace plimsoll::compare {
namespace {

using testing::ElementsAre;
using Outcome = Confirmation::Outcome;

/// Gives every run of the sessions a reading of the canary.
void beside(std::vector<Session>& sessions, double reading) {
  for (Session& each : sessions) each.runs.front().samples["canary_ns"] = {reading};
}

TEST(Decide, OnlySessionsOfTheMachineAtThisSpeedScreen) {
  // The machine was 1.6 times as slow when the old sessions were recorded: the code is no faster.
  Question question = history(160, 100, 8);
  beside(question.before, 16e6);
  beside(question.after, 10e6);
  Finding found = only(decide(question));
  EXPECT_EQ(found.verdict, Verdict::kSuspect);
  EXPECT_EQ(found.reason, Reason::kUnscreened);
  EXPECT_EQ(found.detail, "0 sessions recorded at this speed of the machine, 8 are needed");
  EXPECT_THAT(suspects(decide(question)), ElementsAre("g/s/c"));

  // Enough sessions at this speed, mixed with the others.
  auto fast = sessions(8, run(91), "old");
  beside(fast, 9e6);  // Within 15 %.
  question.before.insert(question.before.begin(), fast.begin(), fast.end());
  found = only(decide(question));
  EXPECT_EQ(found.verdict, Verdict::kSuspect);
  EXPECT_EQ(found.reason, Reason::kScreened);
  EXPECT_EQ(found.before, 91);
  question.after.front().runs.front().samples["cpu_time"] = {92};
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kOk);
}

TEST(Decide, SessionsThatDoNotSayTheirSpeedScreenOnlyOneThatDoesNot) {
  Question question = history(100, 100, 8);
  beside(question.before, 10e6);
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kOk);
  question = history(100, 100, 8);
  beside(question.after, 10e6);
  EXPECT_EQ(only(decide(question)).reason, Reason::kUnscreened);
}

TEST(Decide, TheSmallestReadingStandsBesideTheSmallestRepetition) {
  Question question = history(160, 100);
  beside(question.before, 16e6);
  question.after.front().runs.front().samples["cpu_time"] = {170, 165, 168, 130};
  question.after.front().runs.front().samples["canary_ns"] = {16e6, 16e6, 15e6, 10e6};
  EXPECT_EQ(only(decide(question)).reason, Reason::kUnscreened) << "130 is of the faster machine";
}

TEST(Decide, TheNewestSessionsAreTheBaselineWhateverTheirSpeed) {
  // Eight fast sessions of long ago, then as many slow ones as the window holds.
  Question question = history(160, 95, 20);
  beside(question.before, 16e6);
  auto fast = sessions(8, run(100), "old");
  beside(fast, 10e6);
  question.before.insert(question.before.begin(), fast.begin(), fast.end());
  beside(question.after, 10e6);
  EXPECT_EQ(only(decide(question)).reason, Reason::kUnscreened);
}

TEST(Decide, AChangeHidesBehindNoSmallDifferenceOfSpeed) {
  Question question = history(100, 99);
  beside(question.before, 10e6);
  beside(question.after, 8.8e6);  // At an equal speed it would be 112.5.
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kSuspect);
  question.after.front().runs.front().samples["cpu_time"] = {94};  // 106.8: less than twice 5 %.
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kOk) << "neither slower nor faster";
  question.after.front().runs.front().samples["cpu_time"] = {80};  // 90.9.
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kImproved);
}

TEST(Decide, TwoFilesOfAMachineAtTwoSpeedsAreLeftToFreshPairs) {
  Question question = pair({100}, {180});
  beside(question.before, 10e6);
  beside(question.after, 11e6);
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kConfirmed);
  beside(question.after, 16e6);
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kInconclusive);
  EXPECT_EQ(only(decide(question)).reason, Reason::kOtherSpeed);
  EXPECT_THAT(suspects(decide(question)), ElementsAre("g/s/c"));
  question.confirmations = {
      {"g/s/c", "cpu_time", Outcome::kRegressed, 1.2, 1.1, 1.3, 1e-5, 24, ""}};
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kConfirmed);
  question.before.front().facts.build_id = "new";
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kUnchangedBinary);
}

TEST(Decide, TwoFilesAreRedOnlyBeyondWhatTheMachinesSpeedExplains) {
  Question question = pair({100, 100, 100, 100, 100}, {112, 112, 112, 112, 112});
  beside(question.before, 10e6);
  beside(question.after, 10e6);
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kConfirmed);
  beside(question.after, 11e6);
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kSuspect);
}

TEST(Decide, FreshPairsHaveTheLastWordOnTwoFiles) {
  Question question = pair({100}, {300});
  EXPECT_EQ(only(decide(question)).reason, Reason::kOutright);
  EXPECT_THAT(suspects(decide(question)), ElementsAre("g/s/c"));
  question.confirmations = {{"g/s/c", "cpu_time", Outcome::kSame, 1, 1, 1, 1, 24, ""}};
  EXPECT_EQ(only(decide(question)).verdict, Verdict::kOk);
}

}  // namespace
}  // namespace plimsoll::compare
