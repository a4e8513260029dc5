#include "bench/harness/console.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/harness/progress.hpp"

namespace plimsoll::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Row measured(double cpu_ns) {
  Row row;
  row.name = "vault_crypto/aes256gcm/seal/bytes:1024";
  row.real_ns = cpu_ns * 2;
  row.cpu_ns = cpu_ns;
  return row;
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(Table, FoldsRepetitionsIntoTheFigureThatGates) {
  std::vector<Row> rows{measured(1500), measured(1000), measured(1200)};
  EXPECT_THAT(table_lines(rows, false), HasSubstr("seal/bytes:1024"));
  EXPECT_THAT(table_lines(rows, false), HasSubstr("1.00 us"));
  EXPECT_THAT(table_lines(rows, false), HasSubstr("+50.0 %"));
  for (Row& row : rows) row.record.resource = Resource::kIo;
  EXPECT_THAT(table_lines(rows, false), HasSubstr("2.40 us")) << "the median of real time";
  for (Row& row : rows) row.record.resource = Resource::kDb;
  EXPECT_THAT(table_lines(rows, false), HasSubstr("2.00 us")) << "the minimum of real time";
}

TEST(Table, ShowsPercentilesRateAndWork) {
  Row row = measured(1000);
  row.counters = {{"latency_us_p50", 120},
                  {"latency_us_p99", 2500},
                  {"operations_per_second", 8000},
                  {"statements_per_op", 3},
                  {"cpu_us_per_op", 17}};
  const std::string lines = table_lines(std::vector{row}, false);
  for (const char* expected : {"120 us", "2.50 ms", "8.00k/s", "statements 3", "ok"}) {
    EXPECT_THAT(lines, HasSubstr(expected));
  }
  EXPECT_THAT(lines, Not(HasSubstr("17"))) << "information is no work";
}

TEST(Table, GivesCountedWorkNoTime) {
  Row row = measured(1000);
  row.record.kind = Kind::kWork;
  row.counters = {{"wal_bytes_per_op", 312}};
  const std::string lines = table_lines(std::vector{row}, false);
  EXPECT_THAT(lines, HasSubstr("wal bytes 312"));
  EXPECT_THAT(lines, Not(HasSubstr("us")));
}

TEST(Table, SaysWhyACaseIsNotToBeBelieved) {
  Row row = measured(1000);
  row.record.verdict = "HOST_CONTENDED";
  row.record.reasons = {"somebody else was here"};
  row.record.issues = {"p99 needs more samples"};
  const std::string lines = table_lines(std::vector{row}, false);
  EXPECT_THAT(lines, HasSubstr("HOST_CONTENDED"));
  EXPECT_THAT(lines, HasSubstr("somebody else was here"));
  EXPECT_THAT(lines, HasSubstr("note: p99 needs more samples"));
}

TEST(Table, AFailureHidesEveryNumber) {
  Row row = measured(1000);
  row.error = "wrong: a key was lost";
  const std::string lines = table_lines(std::vector{row}, false);
  EXPECT_THAT(lines, HasSubstr("FAILED"));
  EXPECT_THAT(lines, HasSubstr("wrong: a key was lost"));
  EXPECT_THAT(lines, Not(HasSubstr("us")));
}

TEST(Table, IsNeverWiderThanAHundredColumns) {
  Row row = measured(123456789);
  row.name =
      "vault_crypto/aes256gcm/round_trip_with_a_fresh_data_key_each/bytes:1048576/"
      "mode:open-catch-up";
  row.counters = {
      {"latency_us_p50", 123456}, {"latency_us_p99", 1234567}, {"bytes_per_second", 1.0e9}};
  for (const char* work :
       {"allocations_per_op", "statements_per_op", "round_trips_per_op", "rows_per_op",
        "bytes_sent_per_op", "bytes_received_per_op", "wal_bytes_per_op", "commits_per_op"}) {
    row.counters[work] = 123456.789;
  }
  row.record.verdict = "GENERATOR_LIMITED";
  row.record.reasons = {std::string(40, 'a') + " " + std::string(40, 'b') + " " +
                        std::string(40, 'c')};
  EXPECT_LE(longest_line(table_head(false) + table_lines(std::vector{row, row}, false)), 100U);
}

TEST(Table, ColoursOnlyWhereTheyAreWanted) {
  const auto nothing = [](const std::string&) -> std::optional<std::string> {
    return std::nullopt;
  };
  const auto no_color = [](const std::string& name) -> std::optional<std::string> {
    return name == "NO_COLOR" ? std::optional<std::string>("1") : std::nullopt;
  };
  EXPECT_TRUE(use_colours(Colour::kAuto, nothing, true));
  EXPECT_FALSE(use_colours(Colour::kAuto, nothing, false));
  EXPECT_FALSE(use_colours(Colour::kAuto, no_color, true));
  EXPECT_TRUE(use_colours(Colour::kAlways, no_color, false));
  EXPECT_FALSE(use_colours(Colour::kNever, nothing, true));
  EXPECT_THAT(table_lines(std::vector{measured(1)}, false), Not(HasSubstr("\033")));
  EXPECT_THAT(table_lines(std::vector{measured(1)}, true), HasSubstr("\033[32mok"));
}

TEST(Progress, GuessesTheTimeLeftFromTheCasesThatEnded) {
  EXPECT_EQ(Progress::seconds_left(0, 10, 5), std::nullopt);
  EXPECT_EQ(Progress::seconds_left(2, 10, 5), 20);
  EXPECT_EQ(Progress::seconds_left(10, 10, 5), 0);
}

}  // namespace
}  // namespace plimsoll::bench
