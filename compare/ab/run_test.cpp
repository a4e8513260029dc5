#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "compare/ab/ab.hpp"
#include "compare/ab/command.hpp"

namespace plimsoll::compare {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

/// Whole A/Bs, with a cache of their own.
class RunAb : public ::testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", cache().c_str(), 1); }

  std::filesystem::path cache() const { return scratch_->path() / "cache"; }

  static AbSide binary(const std::string& path,
                       std::map<std::string, std::string> environment = {}) {
    AbSide side = *parse_side(path, ".");
    side.environment = std::move(environment);
    return side;
  }
  static AbSide fake(const std::string& ns, std::map<std::string, std::string> environment = {}) {
    environment["FAKE_NS"] = ns;
    return binary(PLIMSOLL_AB_TESTDATA "/bench_fake", std::move(environment));
  }
  static AbRequest request_of(AbSide base, AbSide fresh, std::string filter) {
    AbRequest request;
    request.base = std::move(base);
    request.fresh = std::move(fresh);
    request.filter = std::move(filter);
    request.repetition = milliseconds(5);
    request.calm_budget = seconds(1);
    request.policy.first_pairs = request.policy.final_pairs = 8;  // Just enough for one benchmark.
    return request;
  }
  static AbVerdict verdict_of(const AbRequest& request) {
    const auto outcome = run_ab(request);
    if (!outcome) {
      ADD_FAILURE() << outcome.error().message;
      return AbVerdict::kError;
    }
    EXPECT_EQ(outcome->results.size(), 1U);
    return outcome->results.at(0).verdict;
  }

  Result<ScratchDirectory> scratch_ = ScratchDirectory::create();
};

TEST_F(RunAb, FindsASlowerBuildOfSomebodyElsesBenchmark) {
  const auto outcome =
      run_ab(request_of(binary(PLIMSOLL_AB_PLAIN), binary(PLIMSOLL_AB_PLAIN_SLOW), "waits\\(us"));
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  ASSERT_EQ(outcome->results.size(), 1U);
  const AbResult& result = outcome->results[0];
  EXPECT_EQ(result.verdict, AbVerdict::kRegressed) << result.reason;
  EXPECT_EQ(result.metric, "real_time");
  EXPECT_EQ(result.pairs.size(), 8U);
  EXPECT_GT(result.ratio.value, 1.5);
}

TEST_F(RunAb, DoesNotMeasureAnUnchangedBinary) {
  EXPECT_EQ(verdict_of(request_of(binary(PLIMSOLL_AB_PLAIN), binary(PLIMSOLL_AB_PLAIN), "counts")),
            AbVerdict::kUnchangedBinary);
}

TEST_F(RunAb, ANullControlMeasuresACopyOfIt) {
  auto request = request_of(fake("1000"), fake("1000"), "two/db");
  request.null_control = true;
  EXPECT_EQ(verdict_of(request), AbVerdict::kSame);
}

TEST_F(RunAb, FindsADatabaseRegressionOfOurs) {
  auto request = request_of(fake("1000"), fake("1150"), "two/db");
  request.policy = AbPolicy{};
  const auto outcome = run_ab(request);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->results[0].verdict, AbVerdict::kRegressed);
  EXPECT_NEAR(outcome->results[0].ratio.value, 1.15, 0.03);
  EXPECT_NEAR(static_cast<double>(outcome->results[0].operations), 5000, 200);
  EXPECT_EQ(verdict_of(request_of(fake("1150"), fake("1000"), "two/db")), AbVerdict::kImproved);
}

TEST_F(RunAb, ACpuRegressionIsConfirmedOrTheMachineKeptChanging) {
  auto request = request_of(fake("1000"), fake("1300"), "one/cpu$");
  request.policy = AbPolicy{};
  request.calm_budget = seconds(20);
  const auto outcome = run_ab(request);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  const AbResult& result = outcome->results[0];
  EXPECT_EQ(result.metric, "cpu_time");
  EXPECT_GT(result.canary.median_ns, 0);
  if (result.verdict == AbVerdict::kInconclusive) {
    EXPECT_GT(result.canary.void_blocks, 0U);
  } else {
    EXPECT_EQ(result.verdict, AbVerdict::kRegressed) << result.reason;
    EXPECT_NEAR(result.ratio.value, 1.3, 0.03);
  }
}

TEST_F(RunAb, SaysWhereALargerFamilyTookItsFirstLook) {
  const std::map<std::string, std::string> more{{"FAKE_EXTRA", "fake/one/cpu_third"}};
  auto fresh = more;
  fresh["X"] = "1";
  auto request = request_of(fake("1000", more), fake("1000", fresh), "one/cpu");
  request.policy = AbPolicy{};
  request.calm_budget = seconds(0);  // The looks count here, not the verdicts.
  const auto outcome = run_ab(request);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->results.size(), 3U);
  EXPECT_EQ(outcome->policy.first_pairs, 14U);
}

TEST_F(RunAb, ACaseOfOneSizeOnlyIsFoundInThatSize) {
  auto request = request_of(fake("1000"), fake("1000", {{"X", "1"}}), "full_only");
  EXPECT_FALSE(run_ab(request).has_value());
  request.size = "full";
  const auto outcome = run_ab(request);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  const AbResult& result = outcome->results.at(0);
  // A loud machine makes blocks void; either way it was measured.
  EXPECT_GT(result.pairs.size() + result.canary.void_blocks, 0U) << result.reason;
}

TEST_F(RunAb, BothSidesDoTheSameWork) {
  const auto log = (scratch_->path() / "log").string();
  ASSERT_TRUE(run_ab(
      request_of(fake("1000", {{"FAKE_LOG", log}}), fake("3000", {{"FAKE_LOG", log}}), "two/db")));
  std::ifstream lines(log);
  std::map<std::string, int> samples;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("--benchmark_repetitions=4") == std::string::npos) continue;
    const auto at = line.find("--plimsoll_ops=");
    ++samples[line.substr(at, line.find(' ', at) - at)];
  }
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples.begin()->second, 16);
}

TEST_F(RunAb, FailuresAndAbsenceHaveVerdictsOfTheirOwn) {
  EXPECT_EQ(verdict_of(request_of(fake("1000"), fake("1000", {{"FAKE_FAULT", "row"}}), "two/db")),
            AbVerdict::kError);
  EXPECT_EQ(verdict_of(request_of(fake("1000", {{"FAKE_FAULT", "exit"}}), fake("1000"), "two/db")),
            AbVerdict::kError);
  EXPECT_EQ(verdict_of(
                request_of(fake("1000", {{"FAKE_EXTRA", "fake/gone/db/x"}}), fake("1000"), "gone")),
            AbVerdict::kMissing);
}

TEST_F(RunAb, SaysHowToMakeDatabaseCasesFaster) {
  unsetenv("PLIMSOLL_INFRA_STATE");
  unsetenv("PLIMSOLL_PG_URL");
  std::vector<std::string> said;
  auto request = request_of(fake("1000"), fake("1000"), "two/db");
  request.say = [&](const std::string& line) { said.push_back(line); };
  ASSERT_TRUE(run_ab(request));
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], HasSubstr("plimsoll-infra up"));
}

TEST_F(RunAb, WhatDoesNotGateIsMeasuredOnlyWhenNamed) {
  auto request = request_of(fake("1000"), fake("1000"), "");
  request.policy.first_pairs = request.policy.final_pairs = 12;
  const auto outcome = run_ab(request);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->results.size(), 3U);
  EXPECT_THAT(outcome->notes, ::testing::Contains(HasSubstr("fake/three/shown does not gate")));
}

TEST_F(RunAb, TreesAreComparedByGroup) {
  for (const std::string tree : {"old", "new"}) {
    std::filesystem::create_directories(scratch_->path() / tree / "bin");
    std::filesystem::copy_file(PLIMSOLL_AB_TESTDATA "/bench_fake",
                               scratch_->path() / tree / "bin/bench_fake");
  }
  auto old_side = parse_side((scratch_->path() / "old").string(), ".");
  auto new_side = parse_side((scratch_->path() / "new").string(), ".");
  ASSERT_TRUE(old_side && new_side);
  new_side->environment["FAKE_NS"] = "2000";
  auto request = request_of(*old_side, *new_side, "");
  request.targets = {{"fake", "fake/two/db/size:8"}};
  EXPECT_EQ(verdict_of(request), AbVerdict::kRegressed);
  request.targets = {{"fak", "fak/two"}};
  const auto refused = run_ab(request);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("the nearest is fake"));
}

TEST_F(RunAb, ATargetWhoseGroupOnlyOneSideHasIsMissingAndTheOthersAreMeasured) {
  for (const std::string path :
       {"old/bin/bench_fake", "new/bin/bench_fake", "new/bin/bench_later"}) {
    std::filesystem::create_directories((scratch_->path() / path).parent_path());
    std::filesystem::copy_file(PLIMSOLL_AB_TESTDATA "/bench_fake", scratch_->path() / path);
  }
  auto request = request_of(*parse_side((scratch_->path() / "old").string(), "."),
                            *parse_side((scratch_->path() / "new").string(), "."), "");
  request.targets = {{"fake", "fake/two/db/size:8"}, {"later", "later/one/cpu"}};
  const auto outcome = run_ab(request);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  ASSERT_EQ(outcome->results.size(), 2U);
  EXPECT_EQ(outcome->results[0].verdict, AbVerdict::kSame);
  EXPECT_EQ(outcome->results[1].verdict, AbVerdict::kMissing);
  request.targets = {{"later", "later/one/cpu"}};
  EXPECT_EQ(verdict_of(request), AbVerdict::kMissing);
}

TEST_F(RunAb, APolicyThatCannotFireIsRefusedBeforeMeasuring) {
  auto request = request_of(fake("1000"), fake("2000"), "one/cpu|two/db");
  const auto refused = run_ab(request);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("could never turn red"));
}

TEST_F(RunAb, WhatNamesNothingIsRefusedWithWhatWasTried) {
  const auto side = parse_side("no-such-thing", scratch_->path());
  ASSERT_FALSE(side.has_value());
  EXPECT_EQ(side.error().code, Errc::kNotFound);
  EXPECT_THAT(side.error().message, HasSubstr("no file, no build tree, and no revision"));
  EXPECT_THAT(parse_side(scratch_->path().string(), ".").error().message,
              HasSubstr("holds no bench_<group>"));
  std::ofstream(scratch_->path() / "plain.txt") << "x";
  EXPECT_THAT(parse_side((scratch_->path() / "plain.txt").string(), ".").error().message,
              HasSubstr("not an executable file"));
}

}  // namespace
}  // namespace plimsoll::compare
