#include "compare/read/merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compare/read/reader.hpp"
#include "compare/test_directory.hpp"

namespace plimsoll::compare {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::string plain(double time, const std::string& more = "") {
  const std::string number = std::to_string(time);
  return R"({"context": {"date": "d", "host_name": "vm"}, "benchmarks": [{"name": "a",
      "run_name": "a", "run_type": "iteration", "repetition_index": 0, "real_time": )" +
         number + R"(, "cpu_time": )" + number + R"(, "time_unit": "ns")" + more + "}]}";
}

std::string ours(const std::string& session) {
  return R"({"context": {"plimsoll": {"schema": 1, "group": "g", "session": ")" + session +
         R"(", "metrics": {}}}, "benchmarks": [{"name": "a", "real_time": 1, "cpu_time": 1,
         "plimsoll": {"resource": "db", "histograms": {"service": {"buckets": [[1, 2]]}}}}]})";
}

Merged merged(const std::vector<std::string>& paths) {
  auto made = merge(paths);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : Merged{};
}

TEST(Merge, TellsSessionsApartAndReadsBackTheSame) {
  const TestDirectory directory;
  const auto a = directory.write("a.json", plain(1));
  const auto b = directory.write("b.json", plain(2));
  const auto c = directory.write("c.json", ours("s3"));
  const Merged made = merged({a, b, c});
  EXPECT_EQ(made.sessions, 3U);
  const auto read = read_text(made.text, "merged.json");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 3U);
  const std::vector<std::string> paths = {a, b, c};
  const auto single = read_all(paths);
  ASSERT_TRUE(single);
  for (const Session& expected : *single) {
    const auto found = std::find_if(read->begin(), read->end(),
                                    [&](const Session& s) { return s.id == expected.id; });
    ASSERT_NE(found, read->end()) << expected.id;
    EXPECT_EQ(found->facts, expected.facts);
    EXPECT_EQ(found->metrics, expected.metrics);
    EXPECT_EQ(found->runs.front().samples, expected.runs.front().samples);
    EXPECT_EQ(found->runs.front().resource, expected.runs.front().resource);
  }
}

TEST(Merge, KeepsWhatOnlyOtherReadersLookAt) {
  const TestDirectory directory;
  const json parsed = json::parse(merged({directory.write("c.json", ours("s3"))}).text);
  EXPECT_EQ(parsed.at("benchmarks").at(0).at("plimsoll").at("histograms").at("service"),
            json::parse(R"({"buckets": [[1, 2]]})"));
}

TEST(Merge, WritesValidJsonWhereTheInputsWereNot) {
  const TestDirectory directory;
  const auto a = directory.write("a.json", plain(1, R"(, "c": NaN, "d": -Infinity, "label": "N",
    "plimsoll": {"invariants": {"lost": NaN}})"));
  const Merged made = merged({a});
  const json parsed = json::parse(made.text);
  EXPECT_TRUE(parsed.at("benchmarks").at(0).at("c").is_null());
  EXPECT_EQ(parsed.at("benchmarks").at(0).at("label"), "N");
  EXPECT_TRUE(parsed.at("benchmarks").at(0).at("plimsoll").at("invariants").at("lost").is_null());
  const auto read = read_text(made.text, "merged.json");
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::isnan(read->front().runs.front().samples.at("c").front()));
}

TEST(Merge, OfMergedFilesKeepsEverySessionOnce) {
  const TestDirectory directory;
  const auto a = directory.write("a.json", plain(1));
  const auto b = directory.write("b.json", plain(2));
  const auto ab = directory.write("ab.json", merged({a, b}).text);
  const Merged again = merged({ab, b});
  EXPECT_EQ(again.sessions, 2U);
  EXPECT_THAT(again.notes, Contains(HasSubstr("is there already")));
  EXPECT_EQ(again.text, merged({a, b}).text) << "byte for byte";
}

TEST(Merge, RefusesAFileThatMeasuredNothing) {
  const TestDirectory directory;
  const std::vector<std::string> paths = {directory.write("a.json", plain(1)),
                                          directory.write("empty.json", "")};
  const auto made = merge(paths);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("empty.json: nothing was measured"));
}

}  // namespace
}  // namespace plimsoll::compare
