#include "bench/harness/row.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace plimsoll::bench {
namespace {

using ::testing::HasSubstr;
using GoogleRun = benchmark::BenchmarkReporter::Run;

GoogleRun google_run() {
  GoogleRun run;
  run.run_name.function_name = "g/s/c";
  run.run_name.iterations = "iterations:1";
  run.run_name.time_type = "manual_time";
  run.family_index = 2;
  run.per_family_instance_index = 0;
  run.repetitions = 1;
  run.repetition_index = 0;
  run.iterations = 4;
  run.time_unit = benchmark::kMicrosecond;
  run.real_accumulated_time = 8e-6;
  run.cpu_accumulated_time = 4e-6;
  return run;
}

Row timed(double real, double cpu) {
  Row row;
  row.name = "g/s/c";
  row.real_ns = real;
  row.cpu_ns = cpu;
  return row;
}

TEST(Row, IsInNanosecondsPerIterationUnderOurNameAlone) {
  const Row row = row_of(google_run(), nullptr);
  EXPECT_EQ(row.name, "g/s/c");
  EXPECT_DOUBLE_EQ(row.real_ns, 2000);
  EXPECT_DOUBLE_EQ(row.cpu_ns, 1000);
  EXPECT_EQ(to_json(row)["time_unit"], "ns");
}

TEST(Row, OfALoadCaseCountsItsOperationsAndItsProcessCpu) {
  Record record;
  record.operations = 5000;
  record.cpu_ns_per_op = 123;
  const Row row = row_of(google_run(), &record);
  EXPECT_EQ(row.iterations, 5000);
  EXPECT_EQ(row.cpu_ns, 123);
  EXPECT_DOUBLE_EQ(row.real_ns, 2000);
}

TEST(Row, WithACounterThatIsNoNumberIsAnErrorWithoutIt) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    GoogleRun run = google_run();
    run.counters["items_per_second"] = benchmark::Counter(bad);
    const Row row = row_of(run, nullptr);
    ASSERT_TRUE(row.error);
    EXPECT_THAT(*row.error, HasSubstr("items_per_second"));
    const Json json = to_json(row);
    EXPECT_FALSE(json.contains("items_per_second"));
    EXPECT_EQ(json["error_occurred"], true);
    EXPECT_EQ(json["real_time"], 0.0);
  }
}

TEST(Row, KeepsGooglesKeysInGooglesOrder) {
  GoogleRun run = google_run();
  run.counters["items_per_second"] = benchmark::Counter(7);
  std::vector<std::string> keys;
  const Json json = to_json(row_of(run, nullptr));
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "name", "family_index", "per_family_instance_index", "run_name", "run_type",
                      "repetitions", "repetition_index", "threads", "iterations", "real_time",
                      "cpu_time", "time_unit", "items_per_second", "plimsoll"}));
}

TEST(Aggregates, AreOfTheRepetitionsThatSucceeded) {
  std::vector<Row> rows{timed(10, 1), timed(20, 1), timed(60, 1)};
  rows.push_back(timed(1e9, 1));
  rows.back().error = "failed";
  const auto made = aggregates_of(rows);
  ASSERT_EQ(made.size(), 4U);
  EXPECT_EQ(made[0].aggregate, "mean");
  EXPECT_DOUBLE_EQ(made[0].real_ns, 30);
  EXPECT_DOUBLE_EQ(made[1].real_ns, 20);
  EXPECT_NEAR(made[2].real_ns, 26.4575, 1e-4);
  EXPECT_NEAR(made[3].real_ns, 26.4575 / 30, 1e-5);
  EXPECT_EQ(to_json(made[3])["aggregate_unit"], "percentage");
  EXPECT_EQ(to_json(made[0])["name"], "g/s/c_mean");
}

TEST(Aggregates, OfASmallSpreadAboutALargeValueKeepIt) {
  // The one-pass formula gives 0 or worse here.
  const std::vector<Row> rows{timed(1e9, 1), timed(1e9 + 1, 1), timed(1e9 + 2, 1)};
  EXPECT_NEAR(aggregates_of(rows)[2].real_ns, 1, 1e-6);
}

TEST(Aggregates, LeaveOutWhatDoesNotExist) {
  EXPECT_TRUE(aggregates_of(std::vector<Row>{timed(1, 1)}).empty());
  std::vector<Row> rows{timed(1, 1), timed(2, 1)};
  for (Row& row : rows) row.counters["allocations_per_op"] = 0;
  rows[0].counters["latency_us_p99"] = 5;  // The other had too few samples.
  const auto made = aggregates_of(rows);
  EXPECT_EQ(made[0].counters.count("latency_us_p99"), 0U);
  EXPECT_EQ(made[0].counters.at("allocations_per_op"), 0);
  EXPECT_EQ(made[3].counters.count("allocations_per_op"), 0U) << "a relative spread about zero";
}

}  // namespace
}  // namespace plimsoll::bench
