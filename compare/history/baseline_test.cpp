#include "compare/history/baseline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "compare/read/reader.hpp"
#include "compare/test_directory.hpp"

namespace plimsoll::compare {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Session session(const std::string& id) {
  Session made;
  made.file = id + ".json";
  made.id = id;
  made.facts.ours = true;
  made.facts.group = "g";
  made.facts.size = "short";
  made.facts.machine_class = "m1";
  made.facts.build_type = "RelWithDebInfo";
  made.facts.build_id = "b1";
  made.facts.commit = "c0ffee";
  made.facts.settings_hash = "postgres=h1";
  made.metrics = {{"cpu_time", {"ns", Better::kLower, MetricClass::kTime, 0.05, 0}},
                  {"real_time", {"ns", Better::kLower, MetricClass::kTime, 0.05, 0}},
                  {"allocs", {"1", Better::kExact, MetricClass::kWork, 0, 0.01}},
                  {"note", {"1", Better::kLower, MetricClass::kInfo, 0, 0}}};
  auto& run = made.runs.emplace_back();
  run.name = "g/s/c";
  run.resource = Resource::kCpu;
  run.samples = {{"cpu_time", {1.0 / 3, 0.25, 0.5}},
                 {"real_time", {3, 2, 4}},
                 {"allocs", {7, 7, 7}},
                 {"note", {1, 2, 3}}};
  run.invariants = {{"lost", {0, 0}}};
  return made;
}

std::vector<Session> one(Session made) { return {std::move(made)}; }

std::string appended(const std::string& old_text, const std::vector<Session>& sessions) {
  const auto recorded = append(old_text, sessions);
  EXPECT_TRUE(recorded) << recorded.error().message;
  return recorded ? recorded->text : "";
}

TEST(Baseline, ReadsBackWhatItWrote) {
  const std::string text = appended("", {session("s1"), session("s2")});
  EXPECT_TRUE(is_baseline(text));
  const auto read = read_baseline(text, "g.json");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  const Session& first = read->front();
  EXPECT_EQ(first.id, "s1");
  EXPECT_EQ(first.metrics, session("s1").metrics);
  EXPECT_EQ(first.facts.build_id, "b1");
  EXPECT_EQ(first.facts.commit, "c0ffee");
  EXPECT_EQ(first.facts.machine_class, "m1");
  EXPECT_EQ(first.facts.settings_hash, "postgres=h1");
  const auto& run = first.runs.front();
  EXPECT_EQ(run.resource, Resource::kCpu);
  EXPECT_THAT(run.samples.at("cpu_time"), ElementsAre(0.25)) << "the smallest of the repetitions";
  EXPECT_THAT(run.samples.at("allocs"), ElementsAre(7.0));
  EXPECT_FALSE(run.samples.contains("note")) << "what is never judged is not stored";
  EXPECT_TRUE(run.invariants.contains("lost"));
}

TEST(Baseline, EqualInputsGiveEqualBytesAndAppendingKeepsTheOld) {
  const std::string once = appended("", {session("s1")});
  EXPECT_EQ(once, appended("", {session("s1")}));
  const std::string both = appended(once, {session("s2")});
  EXPECT_EQ(both, appended("", {session("s1"), session("s2")}));
  EXPECT_THAT(both, HasSubstr(R"("cpu_time": {"statistic": 0.25, "min": 0.25, "median": 0.333)"));
}

TEST(Baseline, ASessionIsRecordedOnce) {
  const std::string once = appended("", {session("s1")});
  const auto again = append(once, one(session("s1")));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->sessions, 0U);
  EXPECT_EQ(again->known, 1U);
  EXPECT_EQ(again->text, once);
}

struct RunRow {
  const char* why;
  void (*spoil)(Run&);
};

TEST(Baseline, OnlyValidRunsAreRecorded) {
  const RunRow rows[] = {
      {"HOST_CONTENDED", [](auto& run) { run.validity = Validity::kHostContended; }},
      {"failed", [](auto& run) { run.errors = {"no server"}; }},
      {"skipped", [](auto& run) { run.skips = {"no AVX"}; }},
      {"no repetitions", [](auto& run) { run.samples.clear(); }},
      {"invariant lost broke", [](auto& run) { run.invariants["lost"].value = 1; }},
  };
  for (const RunRow& row : rows) {
    Session spoiled = session("s1");
    row.spoil(spoiled.runs.front());
    const auto recorded = append("", one(spoiled));
    ASSERT_TRUE(recorded);
    EXPECT_EQ(recorded->sessions, 0U) << row.why;
    EXPECT_THAT(recorded->notes, Contains(HasSubstr(row.why)));

    // Beside a good run only the good one is recorded.
    Session mixed = session("s2");
    auto good = mixed.runs.front();
    good.name = "g/s/good";
    row.spoil(mixed.runs.front());
    mixed.runs.push_back(good);
    const auto read = read_baseline(appended("", {mixed}), "g.json");
    ASSERT_TRUE(read);
    ASSERT_EQ(read->front().runs.size(), 1U) << row.why;
    EXPECT_EQ(read->front().runs.front().name, "g/s/good");
  }
}

TEST(Baseline, RefusesWhatCanBeNobodysBaseline) {
  struct Row {
    const char* why;
    void (*spoil)(Facts&);
  };
  const Row rows[] = {
      {"check OLD NEW", [](Facts& facts) { facts.ours = false; }},
      {"interrupted", [](Facts& facts) { facts.complete = false; }},
      {"smoke", [](Facts& facts) { facts.size = "smoke"; }},
      {"'Debug'", [](Facts& facts) { facts.build_type = "Debug"; }},
      {"sanitizer", [](Facts& facts) { facts.flags = "-O2 -fsanitize=address"; }},
  };
  for (const Row& row : rows) {
    Session spoiled = session("s1");
    row.spoil(spoiled.facts);
    const auto recorded = append("", one(spoiled));
    ASSERT_FALSE(recorded) << row.why;
    EXPECT_THAT(recorded.error().message, HasSubstr(row.why));
    EXPECT_THAT(recorded.error().message, HasSubstr("s1.json"));
  }
}

TEST(Baseline, NeitherReadsNorRewritesANewerSchema) {
  std::string text = appended("", {session("s1")});
  text.replace(text.find(": 1,"), 4, ": 2,");
  const auto read = read_baseline(text, "g.json");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("g.json: plimsoll_baseline is 2"));
  EXPECT_FALSE(append(text, one(session("s2"))));
}

TEST(Baseline, EveryTruncationIsAnErrorWithItsPlace) {
  const std::string text = appended("", {session("s1")});
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    const auto read = read_baseline(text.substr(0, length), "g.json");
    ASSERT_FALSE(read) << length;
    EXPECT_THAT(read.error().message, HasSubstr("g.json: byte ")) << length;
  }
  EXPECT_THAT(read_baseline(R"({"plimsoll_baseline": 1})", "g.json").error().message,
              HasSubstr("not as a baseline file should be"));
}

TEST(Baseline, GoesToTheFolderOfItsClassAndSize) {
  const TestDirectory directory;
  const auto outcome = record(directory.path(), one(session("s1")));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->added, 1U);
  EXPECT_TRUE(fs::exists(directory.path() + "/m1/short/g.json"));
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory.path())) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 1U) << "a temporary file stayed";
}

TEST(Baseline, TwoRecordersAtOnceLoseNothing) {
  const TestDirectory directory;
  constexpr int kEach = 10;
  const auto recorder = [&](const std::string& name) {
    for (int i = 0; i < kEach; ++i) {
      EXPECT_TRUE(record(directory.path(), one(session(name + std::to_string(i)))));
    }
  };
  std::thread other(recorder, "a");
  recorder("b");
  other.join();
  const auto text = read_bytes(directory.path() + "/m1/short/g.json");
  ASSERT_TRUE(text);
  EXPECT_EQ(read_baseline(*text, "g.json")->size(), 2U * kEach);
}

TEST(Baseline, AFailedReplacementLeavesNothingBehind) {
  const TestDirectory directory;
  fs::create_directories(directory.path() + "/taken/by/a/folder");
  EXPECT_FALSE(replace_file(directory.path() + "/taken", "text"));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

TEST(Baseline, AClassThatLeadsOutOfTheTreeIsRefused) {
  const TestDirectory directory;
  for (const char* name : {"..", "a/b", "", "."}) {
    Session bad = session("s1");
    bad.facts.machine_class = name;
    EXPECT_FALSE(record(directory.path(), one(bad))) << name;
  }
}

TEST(Baseline, WritesNothingWhenOneOfTheSessionsIsRefused) {
  const TestDirectory directory;
  Session bad = session("s2");
  bad.facts.group = "h";
  bad.facts.build_type = "Debug";
  EXPECT_FALSE(record(directory.path(), std::vector<Session>{session("s1"), bad}));
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(Baseline, FindsItsOwnClassAndTheOthers) {
  const TestDirectory directory;
  Session other_class = session("s2");
  other_class.facts.machine_class = "m2";
  Session other_settings = session("s3");
  other_settings.facts.settings_hash = "postgres=h2";
  Session other_size = session("s4");
  other_size.facts.size = "full";
  Session other_group = session("s5");
  other_group.facts.group = "h";
  ASSERT_TRUE(record(
      directory.path(),
      std::vector<Session>{session("s1"), other_class, other_settings, other_size, other_group}));
  const std::vector<fs::path> roots = {directory.path(), directory.path() + "/none"};
  const auto found = find_baselines(roots, session("now").facts);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->same.size(), 1U);
  EXPECT_EQ(found->same.front().id, "s1");
  std::vector<std::string> elsewhere;
  for (const Session& each : found->elsewhere) elsewhere.push_back(each.id);
  EXPECT_THAT(elsewhere, testing::UnorderedElementsAre("s2", "s3"));
}

}  // namespace
}  // namespace plimsoll::compare
