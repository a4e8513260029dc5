#include "compare/read/reader.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compare/read/bare_tokens.hpp"
#include "compare/test_directory.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::compare {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A file with these rows, as 1.7.1 would write its context.
std::string file_with(const std::string& rows, const std::string& context = "{}") {
  return fmt::format(R"({{"context": {}, "benchmarks": [{}]}})", context, rows);
}

std::string row(const std::string& name, int repetition, double real,
                const std::string& more = "") {
  return fmt::format(
      R"({{"name": "{0}", "run_name": "{0}", "run_type": "iteration", "repetitions": 3,
          "repetition_index": {1}, "threads": 1, "iterations": 10, "real_time": {2},
          "cpu_time": {2}, "time_unit": "ns"{3}}})",
      name, repetition, real, more);
}

Session read_one(const std::string& text) {
  auto sessions = read_text(text, "file.json");
  EXPECT_TRUE(sessions) << sessions.error().message;
  EXPECT_EQ(sessions ? sessions->size() : 0, 1U);
  return sessions && !sessions->empty() ? sessions->front() : Session{};
}

std::string error_of(const std::string& text) {
  const auto sessions = read_text(text, "file.json");
  EXPECT_FALSE(sessions) << "read without an error";
  const std::string message = sessions ? "" : sessions.error().message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

const Run& find(const Session& session, const std::string& name) {
  static const Run none;
  const auto found = std::find_if(session.runs.begin(), session.runs.end(),
                                  [&](const Run& run) { return run.name == name; });
  EXPECT_NE(found, session.runs.end()) << name;
  return found == session.runs.end() ? none : *found;
}

// --- What Google Benchmark itself wrote ----------------------------------------------------------

TEST(Reader, ReadsEverythingThatVersion171Writes) {
  const auto sessions = read_file(PLIMSOLL_TESTDATA "/zoo_1_7_1.json");
  ASSERT_TRUE(sessions) << sessions.error().message;
  const Session& session = sessions->front();
  std::vector<std::string> names;
  for (const auto& run : session.runs) names.push_back(run.name);
  EXPECT_THAT(names, ElementsAre("err", "ok/512", "ok/64", "ok/8", "ok/8#2", "ok/8/real_time"));

  const auto& run = find(session, "ok/64");
  EXPECT_EQ(run.samples.at("real_time").size(), 3U);
  EXPECT_TRUE(std::isnan(run.samples.at("nan").front()));
  EXPECT_EQ(run.samples.at("inf").front(), HUGE_VAL);
  EXPECT_EQ(run.samples.at("ninf").front(), -HUGE_VAL);
  EXPECT_LT(run.samples.at("real_time").front(), 42) << "the counter of that name won";
  EXPECT_THAT(run.issues, Contains("the key 'real_time' comes twice; the first is used"));
  EXPECT_TRUE(run.interleaved);

  EXPECT_THAT(find(session, "err").errors,
              ElementsAre("no database", "no database", "no database"));
  EXPECT_TRUE(find(session, "err").samples.empty());
  EXPECT_EQ(find(session, "ok/8/real_time").resource, Resource::kIo);
  // 1.2 ns reported in microseconds.
  EXPECT_GT(find(session, "ok/8/real_time").samples.at("real_time").front(), 0.1);
}

TEST(Reader, TellsTheTwoGenerationsOfFailedRowsApartFromSkippedOnes) {
  const Session session = read_one(file_with(
      R"({"name": "old", "error_occurred": true, "error_message": "no server", "real_time": 0},
         {"name": "skip", "skipped": true, "skip_message": "no AVX", "real_time": 0},
         {"name": "fine", "error_occurred": false, "skipped": false, "real_time": 1, "cpu_time": 1},
         {"name": "both", "skipped": true, "error_occurred": true, "error_message": "died"})"));
  EXPECT_THAT(find(session, "old").errors, ElementsAre("no server"));
  EXPECT_THAT(find(session, "skip").skips, ElementsAre("no AVX"));
  EXPECT_THAT(find(session, "skip").errors, IsEmpty());
  EXPECT_THAT(find(session, "fine").samples.at("real_time"), ElementsAre(1.0));
  EXPECT_THAT(find(session, "both").errors, ElementsAre("died"));
}

TEST(Reader, BringsShuffledRepetitionsBackIntoOrder) {
  const Session session =
      read_one(file_with(row("a", 2, 30) + "," + row("a", 0, 10) + "," + row("a", 1, 20)));
  EXPECT_THAT(find(session, "a").samples.at("real_time"), ElementsAre(10.0, 20.0, 30.0));
}

TEST(Reader, BigOAndRmsRowsAreNoBenchmark) {
  const Session session =
      read_one(file_with(row("sort/8", 0, 5) +
                         R"(,{"name": "sort_BigO", "run_name": "sort", "run_type": "aggregate",
           "aggregate_name": "BigO", "cpu_coefficient": 1, "big_o": "N"},
          {"name": "sort_RMS", "run_name": "sort", "run_type": "aggregate",
           "aggregate_name": "RMS", "rms": 0.1})"));
  ASSERT_EQ(session.runs.size(), 1U);
  EXPECT_EQ(session.runs.front().name, "sort/8");
}

TEST(Reader, SeesThatOnlyAggregatesWereWritten) {
  const Session session = read_one(file_with(
      R"({"name": "a_mean", "run_name": "a", "run_type": "aggregate", "aggregate_name": "mean",
          "real_time": 1, "cpu_time": 1},)" +
      row("b", 0, 1) +
      R"(,{"name": "b_mean", "run_name": "b", "run_type": "aggregate", "aggregate_name": "mean",
           "real_time": 1, "cpu_time": 1})"));
  EXPECT_TRUE(find(session, "a").aggregates_only);
  EXPECT_FALSE(find(session, "b").aggregates_only);
  EXPECT_THAT(find(session, "b").samples.at("real_time"), ElementsAre(1.0));
}

TEST(Reader, MissingKeysBecomeNumbersThatAreNone) {
  const Session session = read_one(file_with(
      R"({"name": "a", "real_time": 5}, {"real_time": 1}, {"name": "u", "real_time": 1,
          "cpu_time": 1, "time_unit": "fortnights"})"));
  EXPECT_TRUE(std::isnan(find(session, "a").samples.at("cpu_time").front()));
  EXPECT_THAT(find(session, "a").issues, Contains("no number under cpu_time"));
  EXPECT_THAT(find(session, "row 2 (no name)").errors, ElementsAre("the row has no name"));
  EXPECT_TRUE(std::isnan(find(session, "u").samples.at("real_time").front()));
}

TEST(Reader, ACounterThatOneRepetitionLacksIsNotANumberThere) {
  const Session session =
      read_one(file_with(row("a", 0, 1, R"(, "allocs": 2)") + "," + row("a", 1, 1)));
  EXPECT_EQ(find(session, "a").samples.at("allocs").front(), 2);
  EXPECT_TRUE(std::isnan(find(session, "a").samples.at("allocs").back()));
  EXPECT_THAT(find(session, "a").partial, ElementsAre("allocs"));
}

TEST(Reader, ConvertsEveryTimeUnitToNanoseconds) {
  for (const auto& [unit, factor] :
       {std::pair{"ns", 1.0}, std::pair{"us", 1e3}, std::pair{"ms", 1e6}, std::pair{"s", 1e9}}) {
    const Session session = read_one(file_with(
        fmt::format(R"({{"name": "a", "real_time": 2, "cpu_time": 3, "time_unit": "{}"}})", unit)));
    EXPECT_EQ(find(session, "a").samples.at("real_time").front(), 2 * factor);
    EXPECT_EQ(find(session, "a").samples.at("cpu_time").front(), 3 * factor);
  }
}

TEST(Reader, RowsJoinedByHandAreNoInterleaving) {
  const std::string family0 = R"(, "family_index": 0, "per_family_instance_index": 0)";
  const std::string family1 = R"(, "family_index": 1, "per_family_instance_index": 0)";
  const std::string once = row("a", 0, 1, family0) + "," + row("b", 0, 1, family1);
  const Session joined = read_one(file_with(once + "," + once));
  EXPECT_FALSE(find(joined, "a").interleaved);
  EXPECT_EQ(find(joined, "a").samples.at("real_time").size(), 2U);
  EXPECT_THAT(find(joined, "a").issues, Contains(HasSubstr("repetition 0 comes twice")));

  const Session shuffled =
      read_one(file_with(row("b", 0, 1, family1) + "," + row("a", 0, 1, family0)));
  EXPECT_TRUE(find(shuffled, "a").interleaved);
}

// --- What no parser likes
// -------------------------------------------------------------------------

TEST(Reader, BareTokensAreReadInEverySpelling) {
  for (const char* token : {"NaN", "nan", "-nan", "-NaN"}) {
    const Session session = read_one(file_with(row("a", 0, 1, fmt::format(", \"c\": {}", token))));
    EXPECT_TRUE(std::isnan(find(session, "a").samples.at("c").front())) << token;
  }
  for (const char* token : {"Infinity", "inf", "-Infinity", "-inf"}) {
    const Session session = read_one(file_with(row("a", 0, 1, fmt::format(", \"c\": {}", token))));
    EXPECT_EQ(find(session, "a").samples.at("c").front(), token[0] == '-' ? -HUGE_VAL : HUGE_VAL);
  }
}

TEST(Reader, TokensInsideOfStringsStayWhatTheyAre) {
  std::string text = R"({"a": "NaN, \" -inf \\", "b": NaN, "c\\": -Infinity, "d": null})";
  const std::size_t size = text.size();
  mark_bare_tokens(text);
  EXPECT_EQ(text.size(), size);
  EXPECT_THAT(text, HasSubstr(R"("NaN, \" -inf \\")"));
  EXPECT_THAT(text, HasSubstr(R"("d": null)"));
  EXPECT_THAT(text, testing::Not(HasSubstr(": NaN")));
  EXPECT_THAT(text, testing::Not(HasSubstr(": -Infinity")));
}

TEST(Reader, AByteOrderMarkIsNoError) {
  const Session session = read_one("\xef\xbb\xbf" + file_with(row("a", 0, 1)));
  EXPECT_EQ(session.runs.size(), 1U);
}

TEST(Reader, AnEmptyFileIsASessionThatMeasuredNothing) {
  for (const char* text : {"", " \n"}) {
    const Session session = read_one(text);
    EXPECT_THAT(session.runs, IsEmpty());
    EXPECT_THAT(session.issues, Contains(HasSubstr("filter matched nothing")));
  }
}

TEST(Reader, NamesTheRemedyForUtf16AndForCompressedFiles) {
  EXPECT_THAT(error_of(std::string("\xff\xfe{\0\"\0", 6)), HasSubstr("iconv -f UTF-16"));
  EXPECT_THAT(error_of(std::string("{\0\"\0", 4)), HasSubstr("UTF-16"));
  EXPECT_THAT(error_of("\x1f\x8b\x08"), HasSubstr("gunzip file.json"));
}

TEST(Reader, ATruncatedFileNamesFileByteLineAndReason) {
  const std::string whole = "{\n\"context\": {},\n\"benchmarks\": [" + row("a", 0, 1) + "]}";
  const std::string cut = whole.substr(0, 40);
  EXPECT_THAT(error_of(cut),
              AllOf(HasSubstr("file.json: byte 40 (3:"), HasSubstr("in the middle")));
}

TEST(Reader, EveryTruncationIsNamedByTheByteWhereTheFileEnds) {
  const std::string whole = file_with(row("a", 0, 1, R"(, "c": NaN, "d": -Infinity)"));
  for (std::size_t length = 1; length < whole.size(); ++length) {
    EXPECT_THAT(error_of(whole.substr(0, length)),
                HasSubstr(fmt::format("file.json: byte {} (", length)));
  }
}

TEST(Reader, AWrongByteIsNamedByItsOffset) {
  const std::string text = R"({"context": {}, "benchmarks": [oops]})";
  EXPECT_THAT(error_of(text), HasSubstr("file.json: byte 31 (1:32): "));
}

TEST(Reader, RefusesJsonThatIsNoResultFile) {
  EXPECT_THAT(error_of("[1, 2]"), HasSubstr("`context` and `benchmarks`"));
  EXPECT_THAT(error_of("17"), HasSubstr("`context` and `benchmarks`"));
  EXPECT_THAT(error_of(R"({"context": {}})"), HasSubstr("no array `benchmarks`"));
  EXPECT_THAT(error_of(R"({"benchmarks": {"a": 1}})"), HasSubstr("no array `benchmarks`"));
  EXPECT_THAT(error_of(R"({"benchmarks": [1]})"), HasSubstr("not an object"));
  EXPECT_THAT(error_of(R"({"benchmarks": [[1]]})"), HasSubstr("not an object"));
}

TEST(Reader, SurvivesDeepNesting) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_EQ(read_one(file_with(row("a", 0, 1, ", \"x\": " + deep))).runs.size(), 1U);
  EXPECT_EQ(read_one(R"({"x": )" + deep + R"(, "benchmarks": []})").runs.size(), 0U);
}

TEST(Reader, NeverCrashesOnDamagedBytes) {
  const std::string whole = file_with(row("a", 0, 1, R"(, "c": NaN, "plimsoll": {"gate": true})"));
  Rng rng(20261130);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (int hit = 0; hit < 3; ++hit) {
      damaged[rng.below(damaged.size())] = static_cast<char>(rng.below(256));
    }
    (void)read_text(damaged, "damaged.json");  // Either outcome is right; asan and ubsan watch.
  }
}

// --- Our own additions
// ----------------------------------------------------------------------------

constexpr const char* kContext = R"({"date": "2026-11-30", "plimsoll": {"schema": 1,
  "group": "lease_claims", "size": "short", "complete": false, "seed": 7, "session": "abc",
  "build": {"type": "RelWithDebInfo", "compiler": "GCC 12", "commit": "c0ffee", "dirty": true,
            "build_id": "b1"},
  "machine": {"class": "epyc"}, "infra": {"postgres": {"settings_hash": "h1"}},
  "metrics": {"real_time": {"unit": "ns", "better": "lower", "class": "time", "min_effect": 0.07},
              "statements_per_op": {"unit": "1", "better": "exact", "class": "work",
                                    "tolerance": 0.01}}}})";

TEST(Reader, ReadsContextAndRowsOfOurOwnFiles) {
  const Session session = read_one(
      file_with(row("lease/claim", 0, 1, R"(, "statements_per_op": 3, "plimsoll": {"resource": "db",
          "gate": false, "validity": {"verdict": "HOST_CONTENDED", "reasons": ["noisy"]},
          "invariants": {"duplicate_fires": {"value": 1, "expected": 0}},
          "ledger": {"planned": 4}, "histograms": {"service": {"buckets": [[1, 2]]}}})"),
                kContext));
  EXPECT_EQ(session.id, "abc");
  EXPECT_EQ(session.facts.group, "lease_claims");
  EXPECT_EQ(session.facts.machine_class, "epyc");
  EXPECT_EQ(session.facts.settings_hash, "postgres=h1");
  EXPECT_TRUE(session.facts.dirty);
  EXPECT_FALSE(session.facts.complete);
  EXPECT_EQ(session.metrics.at("real_time").min_effect, 0.07);
  EXPECT_EQ(session.metrics.at("cpu_time").min_effect, 0.05);
  EXPECT_EQ(session.metrics.at("statements_per_op").tolerance, 0.01);
  const auto& run = session.runs.front();
  EXPECT_EQ(run.resource, Resource::kDb);
  EXPECT_FALSE(run.gate);
  EXPECT_EQ(run.validity, Validity::kHostContended);
  EXPECT_THAT(run.validity_reasons, ElementsAre("noisy"));
  EXPECT_EQ(run.invariants.at("duplicate_fires").value, 1);
  EXPECT_THAT(run.samples.at("statements_per_op"), ElementsAre(3.0));
}

TEST(Reader, AnInvariantThatBrokeInOneRepetitionIsBroken) {
  const std::string good = R"(, "plimsoll": {"invariants": {"lost": {"value": 0, "expected": 0}}})";
  const std::string bad = R"(, "plimsoll": {"invariants": {"lost": {"value": 2, "expected": 0}},
      "validity": {"verdict": "NOT_STEADY", "reasons": []}})";
  const Session session = read_one(file_with(
      row("a", 0, 1, good) + "," + row("a", 1, 1, bad) + "," + row("a", 2, 1, good), kContext));
  EXPECT_EQ(session.runs.front().invariants.at("lost").value, 2);
  EXPECT_EQ(session.runs.front().validity, Validity::kNotSteady);
}

TEST(Reader, RefusesANewerSchemaAndAnUnknownWord) {
  EXPECT_THAT(error_of(file_with("", R"({"json_schema_version": 2})")),
              HasSubstr("json_schema_version is 2"));
  EXPECT_THAT(error_of(file_with("", R"({"plimsoll": {"schema": 2}})")),
              AllOf(HasSubstr("schema is 2"), HasSubstr("up to 1")));
  EXPECT_THAT(error_of(file_with("", R"({"plimsoll": {"schema": 1, "metrics":
                  {"p99": {"better": "bigger", "class": "time"}}}})")),
              HasSubstr("p99.better is 'bigger'; one of: lower, higher, exact"));
}

TEST(Reader, AVerdictThatItDoesNotKnowIsNotBelieved) {
  const Session session = read_one(
      file_with(row("a", 0, 1, R"(, "plimsoll": {"validity": {"verdict": "GREAT"}})"), kContext));
  EXPECT_NE(session.runs.front().validity, Validity::kValid);
}

TEST(Reader, KeepsMergedSessionsApart) {
  const auto sessions =
      read_text(file_with(row("a", 0, 1, R"(, "plimsoll": {"session": "s1"})") + "," +
                              row("a", 0, 2, R"(, "plimsoll": {"session": "s2"})"),
                          R"({"plimsoll_sessions": {"s1": {"date": "d1"}, "s2": {"date": "d2"}}})"),
                "merged.json");
  ASSERT_TRUE(sessions) << sessions.error().message;
  ASSERT_EQ(sessions->size(), 2U);
  EXPECT_EQ((*sessions)[0].id, "s1");
  EXPECT_EQ((*sessions)[0].facts.date, "d1");
  EXPECT_THAT((*sessions)[1].runs.front().samples.at("real_time"), ElementsAre(2.0));
}

// --- Files and directories
// ------------------------------------------------------------------------

TEST(Reader, ReadsADirectoryAndKeepsASessionThatIsGivenTwiceOnce) {
  const TestDirectory directory;
  const std::string a = directory.write("a.json", file_with(row("a", 0, 1)));
  directory.write("b.json", file_with(row("a", 0, 2)));
  directory.write("same-as-a.json", file_with(row("a", 0, 1)));
  directory.write("notes.txt", "not read");
  const std::vector<std::string> paths = {directory.path(), a};
  const auto sessions = read_all(paths);
  ASSERT_TRUE(sessions) << sessions.error().message;
  ASSERT_EQ(sessions->size(), 2U);
  EXPECT_EQ((*sessions)[0].issues.size(), 2U);
  EXPECT_THAT((*sessions)[0].issues.front(), HasSubstr("given twice"));
}

TEST(Reader, NamesTheNearestFileThatExists) {
  const TestDirectory directory;
  directory.write("results.json", "{}");
  const std::vector<std::string> paths = {directory.path() + "/reslts.json"};
  const auto sessions = read_all(paths);
  ASSERT_FALSE(sessions);
  EXPECT_EQ(sessions.error().code, Errc::kNotFound);
  EXPECT_THAT(sessions.error().message,
              HasSubstr("nearest: " + directory.path() + "/results.json"));
}

TEST(Reader, ADirectoryWithoutResultsIsAnError) {
  const TestDirectory directory;
  const std::vector<std::string> paths = {directory.path()};
  const auto sessions = read_all(paths);
  ASSERT_FALSE(sessions);
  EXPECT_THAT(sessions.error().message, HasSubstr("no *.json"));
  EXPECT_THAT(read_file(directory.path()).error().message, HasSubstr("is a directory"));
}

}  // namespace
}  // namespace plimsoll::compare
