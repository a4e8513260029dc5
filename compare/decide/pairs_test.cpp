// What pairs of a clock say about metrics that are not clocks, and the tests of zeros and of
// repetitions whose best and whose median disagree.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compare/decide/decide_test_support.hpp"

namespace plimsoll::compare {
namespace {

using Outcome = Confirmation::Outcome;

/// A question that also has `metric`, with one value a side.
Question with(Question question, const std::string& metric, Better better, double before,
              double after) {
  for (const auto& [side, value] :
       {std::pair{&question.before, before}, std::pair{&question.after, after}}) {
    for (Session& each : *side) {
      each.metrics[metric] = {"1", better, MetricClass::kTime, 0.05, 0};
      each.runs.front().samples[metric] = {value};
    }
  }
  return question;
}

Question repeated(const std::vector<double>& before, const std::vector<double>& after) {
  Question question = pair({1}, {1});
  question.interleaved = true;
  for (const char* clock : {"cpu_time", "real_time"}) {
    question.before.front().runs.front().samples[clock] = before;
    question.after.front().runs.front().samples[clock] = after;
  }
  return question;
}

TEST(Decide, PairsOfTheClockAcquitRatesAndNotPercentiles) {
  Question question = with(history(100, 120), "p99_us", Better::kLower, 10, 20);
  question = with(std::move(question), "items_per_second", Better::kHigher, 1000, 800);
  question.confirmations = {{"g/s/c", "cpu_time", Outcome::kSame, 1, 1, 1, 1, 12, ""}};
  const Decision decision = decide(question);
  EXPECT_EQ(about(decision, "items_per_second").verdict, Verdict::kOk);
  EXPECT_EQ(about(decision, "p99_us").verdict, Verdict::kSuspect);
  EXPECT_EQ(about(decision, "p99_us").reason, Reason::kNotPairable);
  EXPECT_EQ(decision.exit, Exit::kInconclusive);
}

TEST(Decide, AZeroIsAValueOfACounterAndNotOfAClock) {
  const struct {
    Better better;
    double before, after;
    Verdict verdict;
  } rows[] = {
      {Better::kLower, 0, 0, Verdict::kOk},       {Better::kHigher, 0, 0, Verdict::kOk},
      {Better::kLower, 5, 0, Verdict::kImproved}, {Better::kLower, 0, 5, Verdict::kSuspect},
      {Better::kHigher, 5, 0, Verdict::kSuspect}, {Better::kHigher, 0, 5, Verdict::kImproved}};
  for (const auto& row : rows) {
    for (const Question& base : {history(100, 100), pair({100}, {100})}) {
      const auto question = with(base, "drops", row.better, row.before, row.after);
      EXPECT_EQ(name(about(decide(question), "drops").verdict), name(row.verdict))
          << row.before << " -> " << row.after;
    }
  }
}

TEST(Decide, AFasterBuildWithOneLuckyOldRepetitionIsNotConfirmedSlower) {
  const std::vector<double> before = {100, 150, 151, 152, 153, 154, 155, 156, 157, 158};
  const std::vector<double> after = {110, 111, 112, 113, 114, 110, 111, 112, 113, 114};
  const Finding found = only(decide(repeated(before, after)));
  EXPECT_LE(found.p, 0.01);
  EXPECT_EQ(name(found.verdict), name(Verdict::kSuspect));
}

TEST(Decide, ASlowdownThatOneLuckyNewRepetitionHidesIsASuspect) {
  const std::vector<double> before = {100, 101, 102, 103, 104, 100, 101, 102, 103, 104};
  const std::vector<double> after = {100, 120, 121, 122, 123, 124, 120, 121, 122, 123};
  EXPECT_EQ(name(only(decide(repeated(before, after))).verdict), name(Verdict::kSuspect));
  EXPECT_EQ(name(only(decide(repeated(before, before))).verdict), name(Verdict::kOk));
}

}  // namespace
}  // namespace plimsoll::compare
