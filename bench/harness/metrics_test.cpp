#include "bench/harness/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace plimsoll::bench {
namespace {

using ::testing::HasSubstr;

TEST(Metrics, KnowTheClocksAndThePercentiles) {
  const MetricsTable table;
  for (const char* name :
       {"real_time", "cpu_time", "latency_us_p50", "response_us_p99", "lag_us_p999",
        "operations_per_second", "allocations_per_op", "wal_bytes_per_op"}) {
    EXPECT_NE(table.find(name), nullptr) << name;
  }
  EXPECT_EQ(table.find("latency_us_p50")->min_effect, 0.10);
  EXPECT_EQ(table.find("lag_us_p99")->kind, MetricClass::kInfo);
  EXPECT_EQ(table.find("wal_bytes_per_op")->tolerance, 0.001);
}

TEST(Metrics, FindOnlyWholeNames) {
  const MetricsTable table;
  EXPECT_EQ(table.find("real"), nullptr);
  EXPECT_EQ(table.find(""), nullptr);
}

TEST(Metrics, TakeTheSameDeclarationTwiceAndNoOther) {
  MetricsTable table;
  const Metric claims{"claims", "1", Better::kHigher, MetricClass::kTime, 0.05};
  EXPECT_TRUE(table.declare(claims));
  EXPECT_TRUE(table.declare(claims));
  Metric other = claims;
  other.better = Better::kLower;
  const auto refused = table.declare(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_EQ(table.find("claims")->better, Better::kHigher);
}

TEST(Metrics, RefuseWhatWouldBreakARow) {
  MetricsTable table;
  EXPECT_THAT(table.declare({"plimsoll", "1"}).error().message, HasSubstr("hide a key"));
  EXPECT_THAT(table.declare({"label", "1"}).error().message, HasSubstr("hide a key"));
  EXPECT_FALSE(table.declare({"", "1"}));
  EXPECT_FALSE(table.declare({"nameless_unit", ""}));
  EXPECT_FALSE(table.declare({"a", "1", Better::kLower, MetricClass::kTime, -0.1}));
  EXPECT_FALSE(table.declare(
      {"b", "1", Better::kLower, MetricClass::kWork, 0, std::numeric_limits<double>::quiet_NaN()}));
}

TEST(Metrics, AreWrittenInWords) {
  const auto json = MetricsTable().to_json();
  EXPECT_EQ(json["allocations_per_op"].dump(),
            R"({"unit":"1/op","better":"exact","class":"work","min_effect":0.0,"tolerance":0.0})");
}

}  // namespace
}  // namespace plimsoll::bench
