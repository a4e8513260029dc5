#include "compare/ab/render.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace plimsoll::compare {
namespace {

using ::testing::HasSubstr;

AbResult result_of(std::string name, AbVerdict verdict) {
  AbResult result;
  result.target = {"g", std::move(name)};
  result.metric = "cpu_time";
  result.min_effect = 0.05;
  result.verdict = verdict;
  result.reason = "because";
  if (verdict == AbVerdict::kError) return result;
  result.pairs.assign(12, {1000, 1200, 1010, 1212});
  result.ratio = {1.2, 1.15, 1.25};
  result.real_ratio = 1.2;
  result.p = 2.0 / 4096;
  result.p_adjusted = 4.0 / 4096;
  return result;
}

AbOutcome outcome_of(std::vector<AbResult> results) {
  AbOutcome outcome;
  outcome.base = "HEAD~1";
  outcome.fresh = "build/bench";
  outcome.seed = 7;
  outcome.results = std::move(results);
  return outcome;
}

TEST(AbText, SaysWhatAPersonNeeds) {
  auto outcome = outcome_of(
      {result_of("g/s/c", AbVerdict::kRegressed), result_of("g/s/e", AbVerdict::kError)});
  outcome.notes.push_back("a note");
  outcome.results[0].doubts = {{Validity::kGeneratorLimited, 3}, {Validity::kNotSteady, 24}};
  EXPECT_EQ(
      ab_text(outcome),
      "A/B of HEAD~1 (base) and build/bench (new), seed 7\n"
      "\n"
      "benchmark    metric     base      new   change   95 % interval        p  pairs  verdict\n"
      "g/s/c      cpu_time  1.00 us  1.20 us  +20.0 %  +15.0 to +25.0  0.00098     12  REGRESSED: "
      "because\n"
      "g/s/e      cpu_time        -        -        -               -        -      0  error: "
      "because\n"
      "\n"
      "note: g/s/c: 3 of 24 samples GENERATOR_LIMITED\n"
      "note: a note\n"
      "1 regressed, 1 error\n");
}

TEST(AbJson, HoldsEveryNumberAndIsTheSameForTheSameOutcome) {
  auto outcome = outcome_of({result_of("g/s/c", AbVerdict::kRegressed)});
  outcome.results[0].ratio.high = std::numeric_limits<double>::infinity();
  const std::string text = ab_json(outcome);
  EXPECT_EQ(text, ab_json(outcome));
  const auto json = nlohmann::json::parse(text);
  const auto& result = json["results"][0];
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(result["verdict"], "regressed");
  EXPECT_EQ(result["pairs"].size(), 12U);
  EXPECT_EQ(result["pairs"][3]["fresh"], 1200);
  EXPECT_EQ(result["ratio"]["value"], 1.2);
  EXPECT_TRUE(result["ratio"]["high"].is_null());
  EXPECT_EQ(result["p"], 2.0 / 4096);
}

TEST(AbJson, AnUnjudgedCaseHasNoRatio) {
  const auto json =
      nlohmann::json::parse(ab_json(outcome_of({result_of("g/s/c", AbVerdict::kError)})));
  EXPECT_FALSE(json["results"][0].contains("ratio"));
  EXPECT_FALSE(json["results"][0].contains("p"));
}

TEST(AbExitCode, FollowsTheWorstVerdict) {
  const auto code = [](std::vector<AbVerdict> verdicts) {
    std::vector<AbResult> results;
    for (const AbVerdict verdict : verdicts) results.push_back(result_of("g/s/c", verdict));
    return ab_exit_code(outcome_of(std::move(results)));
  };
  using enum AbVerdict;
  EXPECT_EQ(code({kSame, kImproved, kUnchangedBinary}), 0);
  EXPECT_EQ(code({kSame, kUndecided}), 3);
  EXPECT_EQ(code({kInconclusive}), 3);
  EXPECT_EQ(code({kInconclusive, kError}), 4);
  EXPECT_EQ(code({kMissing}), 4);
  EXPECT_EQ(code({kError, kRegressed}), 1);
  EXPECT_EQ(code({}), 4) << "nothing measured is nothing proved";
}

TEST(AbExitCode, ANullControlThatFindsSomethingIsInconclusive) {
  auto outcome = outcome_of({result_of("g/s/c", AbVerdict::kRegressed)});
  outcome.null_control = true;
  EXPECT_EQ(ab_exit_code(outcome), 3);
  EXPECT_THAT(ab_text(outcome), HasSubstr("where there is none"));
  outcome.results[0].verdict = AbVerdict::kSame;
  EXPECT_EQ(ab_exit_code(outcome), 0);
  EXPECT_THAT(ab_text(outcome), HasSubstr("found nothing, as it should"));
  outcome.results[0].verdict = AbVerdict::kInconclusive;
  EXPECT_EQ(ab_exit_code(outcome), 3);
  EXPECT_THAT(ab_text(outcome), HasSubstr("the null control says nothing"));
}

}  // namespace
}  // namespace plimsoll::compare
