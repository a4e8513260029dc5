// What becomes of a load run's report: row, table and exit code, by the probe's cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/harness/testing/process.hpp"

namespace plimsoll::bench::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

struct Outcome {
  int exit_code;
  Json row;
};

Outcome outcome_of(const std::string& name, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--benchmark_format=json", "--benchmark_filter=^probe/" + name + "$"});
  const Ended ended = run_probe(more);
  const Json parsed = Json::parse(ended.out, nullptr, false);
  EXPECT_TRUE(parsed.is_object()) << ended.out << ended.err;
  return {ended.exit_code, parsed.is_object() ? parsed["benchmarks"][0] : Json::object()};
}

TEST(LoadReport, IsOneRowPerOperationUnderOurName) {
  const auto [code, row] = outcome_of("load/good");
  EXPECT_EQ(code, 0);
  EXPECT_EQ(row.at("name"), "probe/load/good");
  EXPECT_EQ(row.at("run_name"), "probe/load/good");
  EXPECT_EQ(row.at("label"), "closed");
  EXPECT_EQ(row.at("iterations"), 3000);
  EXPECT_NEAR(row.at("real_time").get<double>(), 1e9 / 3000, 1e-3);
  EXPECT_NEAR(row.at("cpu_time").get<double>(), 1e5, 1e-3) << "of the whole process, per operation";
  EXPECT_NEAR(row.at("operations_per_second").get<double>(), 3000, 1e-6);
  EXPECT_NEAR(row.at("latency_us_p50").get<double>(), 1000, 10);
  EXPECT_EQ(row.at("latency_us_max"), 1000);
  EXPECT_TRUE(row.contains("latency_us_p99")) << "2,000 samples are enough";
  EXPECT_FALSE(row.contains("latency_us_p999")) << "20,000 are needed";
  EXPECT_FALSE(row.contains("response_us_p50")) << "closed: nobody planned";
  EXPECT_EQ(row.at("plimsoll").at("resource"), "db");
}

TEST(LoadReport, KeepsLedgerHistogramsAndResources) {
  const Json ours = outcome_of("load/failures").row.at("plimsoll");
  EXPECT_EQ(ours.at("ledger").at("ok"), 3000);
  EXPECT_EQ(ours.at("ledger").at("failed_by"), (Json{{"40001", 2}}));
  EXPECT_THAT(ours.at("issues").dump(), HasSubstr("2 operations failed: 40001 x 2"));
  const Json service = ours.at("histograms").at("service");
  EXPECT_EQ(service.at("bits"), 7);
  EXPECT_EQ(service.at("count"), 3000);
  ASSERT_EQ(service.at("buckets").size(), 1U);
  EXPECT_EQ(service.at("buckets")[0][1], 3000);
  EXPECT_EQ(ours.at("resources").at("own").at("cpu_seconds"), 0.3);
  EXPECT_EQ(ours.at("run").at("mode"), "closed");
}

TEST(LoadReport, ShowsNoPercentileOfTooFewSamples) {
  const auto [code, row] = outcome_of("load/few");
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(row.contains("latency_us_p50"));
  EXPECT_FALSE(row.contains("latency_us_p95"));
  EXPECT_FALSE(row.contains("latency_us_p99"));
  EXPECT_THAT(row.at("plimsoll").at("issues").dump(),
              HasSubstr("n too small for p95, p99, p999 (50 samples)"));
}

TEST(LoadReport, OfAnOpenRunShowsResponseAndLag) {
  const Json row = outcome_of("load/open").row;
  for (const char* counter : {"latency_us_p50", "response_us_p99", "lag_us_p50"}) {
    EXPECT_TRUE(row.contains(counter)) << counter;
  }
  EXPECT_EQ(row.at("label"), "open-skip");
}

TEST(LoadReport, OfAContendedHostIsANumberThatIsNotValid) {
  const auto [code, row] = outcome_of("load/contended");
  EXPECT_EQ(code, 0);
  EXPECT_GT(row.at("real_time"), 0);
  EXPECT_EQ(row.at("plimsoll").at("validity"),
            (Json{{"verdict", "HOST_CONTENDED"}, {"reasons", {"a neighbour"}}}));
}

TEST(LoadReport, OfACrashedServerIsNeverANumberButKeepsWhatWasSeen) {
  const auto [code, row] = outcome_of("load/crashed");
  EXPECT_EQ(code, 1);
  EXPECT_EQ(row.at("error_message"), "SERVER_CRASHED: the server went away");
  EXPECT_EQ(row.at("real_time"), 0);
  EXPECT_FALSE(row.contains("operations_per_second"));
  EXPECT_EQ(row.at("plimsoll").at("validity").at("verdict"), "SERVER_CRASHED");
  EXPECT_EQ(row.at("plimsoll").at("ledger").at("ok"), 3000);
  EXPECT_EQ(row.at("plimsoll").at("histograms").at("service").at("count"), 3000);
}

TEST(LoadReport, ThatDoesNotBalanceOrHoldsNothingFails) {
  for (const auto& [name, reason] :
       std::map<std::string, std::string>{{"unbalanced", "UNBALANCED: one too many"},
                                          {"nothing", "no operation ended well"},
                                          {"twice", "report() was called twice"},
                                          {"in_a_loop", "belongs into a load case"}}) {
    const auto [code, row] = outcome_of("load/" + name);
    EXPECT_EQ(code, 1) << name;
    EXPECT_THAT(row.value("error_message", ""), HasSubstr(reason));
    EXPECT_EQ(row.at("plimsoll").at("validity").at("verdict"),
              name == "unbalanced" ? "UNBALANCED" : "FAILED");
  }
}

TEST(LoadReport, OfARealRunCountsExactlyTheOperationsAskedFor) {
  const auto [code, row] = outcome_of("load/real", {"--plimsoll_ops=37"});
  EXPECT_EQ(code, 0) << row;
  EXPECT_EQ(row.at("plimsoll").at("ledger").at("ok"), 37);
  EXPECT_EQ(row.at("iterations"), 37);
  EXPECT_GT(row.at("real_time"), 0);
}

TEST(LoadReport, IsOnTheTableWithItsPercentiles) {
  const Ended ended = run_probe({"--benchmark_filter=load/good"});
  for (const char* expected : {"333 us", "1.00 ms", "3.00k/s", "ok"})
    EXPECT_THAT(ended.out, HasSubstr(expected));
}

TEST(WorkCase, IsCountedOnceAndNeverGatedOnTime) {
  const auto [code, row] = outcome_of("work/counts", {"--benchmark_repetitions=5"});
  EXPECT_EQ(code, 0);
  EXPECT_EQ(row.at("repetitions"), 1);
  EXPECT_EQ(row.at("iterations"), 1);
  EXPECT_EQ(row.at("statements_per_op"), 3);
  EXPECT_EQ(row.at("plimsoll").at("gate"), false);
}

TEST(WorkCase, ThatCountedNothingFailsUnlessItSaysWhy) {
  EXPECT_EQ(outcome_of("work/silent").exit_code, 1);
  const auto [code, row] = outcome_of("work/elsewhere");
  EXPECT_EQ(code, 0);
  EXPECT_EQ(row.at("plimsoll").at("issues"), Json{"not our server"});
}

}  // namespace
}  // namespace plimsoll::bench::testing
