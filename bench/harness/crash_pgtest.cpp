// A server that dies under the cases, seen from outside: the probe is run as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/harness/testing/process.hpp"

namespace plimsoll::bench::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

TEST(DeadServer, IsSaidByEveryKindOfCaseThatFailsForIt) {
  const TemporaryDirectory directory;
  const std::string file = directory / "r.json";
  const Ended ended = run_probe(
      {"--benchmark_filter=dead_server", "--benchmark_repetitions=1", "--benchmark_out=" + file});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.out, HasSubstr("3 cases, 3 failed"));
  const Json rows = Json::parse(read_file(file), nullptr, false).value("benchmarks", Json::array());
  ASSERT_EQ(rows.size(), 3U) << ended.out << ended.err;
  for (const Json& row : rows) {
    EXPECT_EQ(row.at("error_occurred"), true);
    EXPECT_THAT(row.value("error_message", ""), HasSubstr("unavailable: "));
    const Json validity = row.at("plimsoll").at("validity");
    EXPECT_EQ(validity.at("verdict"), "SERVER_CRASHED") << row.at("name");
    ASSERT_FALSE(validity.at("reasons").empty());
    EXPECT_THAT(validity.at("reasons").front(), HasSubstr("postmaster"));
  }
  std::size_t said = 0;
  for (auto at = ended.out.find("SERVER_CRASHED: "); at != std::string::npos;
       at = ended.out.find("SERVER_CRASHED: ", at + 1)) {
    ++said;
  }
  EXPECT_EQ(said, 3U) << ended.out;
}

}  // namespace
}  // namespace plimsoll::bench::testing
