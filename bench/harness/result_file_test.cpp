// The result file, read back by a strict parser, by Google's own compare.py, and after every kind
// of death.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/harness/testing/process.hpp"

namespace plimsoll::bench::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr std::chrono::seconds kDeadline{60};

Ended measure(const std::string& file, std::vector<std::string> arguments) {
  arguments.push_back("--benchmark_out=" + file);
  return run_probe(arguments);
}

/// What is at the path, strictly; null where it is no JSON.
Json document(const std::string& path) { return Json::parse(read_file(path), nullptr, false); }

std::vector<Json> repetitions(const Json& parsed) {
  std::vector<Json> rows;
  for (const Json& row : parsed.at("benchmarks")) {
    if (row.at("run_type") == "iteration") rows.push_back(row);
  }
  return rows;
}

/// Waits until the file holds at least so many repetitions.
bool wait_for_rows(const std::string& path, std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (std::chrono::steady_clock::now() < end) {
    const Json parsed = document(path);
    if (parsed.is_object() && repetitions(parsed).size() >= count) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

TEST(ResultFile, CarriesOurNamesAloneInEveryRow) {
  const TemporaryDirectory directory;
  const std::string file = directory / "r.json";
  // Real time, a fixed count and repetitions each add to Google Benchmark's name.
  ASSERT_EQ(measure(file, {"--plimsoll_ops=100", "--benchmark_repetitions=3",
                           "--benchmark_filter=real_time"})
                .exit_code,
            0);
  const Json parsed = document(file);
  for (const Json& row : parsed.at("benchmarks"))
    EXPECT_EQ(row.at("run_name"), "probe/ok/real_time/param:7");
  const auto rows = repetitions(parsed);
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("name"), "probe/ok/real_time/param:7");
    EXPECT_EQ(rows[i].at("repetition_index"), i);
    EXPECT_EQ(rows[i].at("iterations"), 100);
    EXPECT_EQ(rows[i].at("plimsoll").at("resource"), "io");
    EXPECT_EQ(rows[i].at("plimsoll").at("gate"), false);
  }
  EXPECT_EQ(parsed.at("benchmarks").size(), 7U);  // And mean, median, stddev, cv.
  EXPECT_EQ(parsed.at("benchmarks")[3].at("name"), "probe/ok/real_time/param:7_mean");
}

TEST(ResultFile, SaysWhatWasRunByWhatAndWhere) {
  const TemporaryDirectory directory;
  const std::string file = directory / "r.json";
  ASSERT_EQ(measure(file, {"--plimsoll_ops=10", "--plimsoll_seed=42", "--benchmark_filter=ok/loop"})
                .exit_code,
            0);
  const Json context = document(file).at("context");
  EXPECT_THAT(context.at("executable").get<std::string>(), HasSubstr("plimsoll_harness_probe"));
  const Json ours = context.at("plimsoll");
  EXPECT_EQ(ours.at("schema"), 1);
  EXPECT_EQ(ours.at("group"), "probe");
  EXPECT_EQ(ours.at("size"), "short");
  EXPECT_EQ(ours.at("seed"), 42);
  EXPECT_EQ(ours.at("complete"), true);
  EXPECT_EQ(ours.at("build").at("build_id").get<std::string>().size(), 40U);
  EXPECT_EQ(ours.at("metrics").at("cpu_time").at("better"), "lower");
  EXPECT_EQ(ours.at("metrics").at("probe_widgets").at("class"), "work");
  EXPECT_GT(ours.at("machine").at("cores"), 0);
  EXPECT_TRUE(ours.at("pressure").at("before").contains("load1"));
}

TEST(ResultFile, SaysHowFastTheMachineWasBesideACpuCase) {
  const TemporaryDirectory directory;
  const auto has_canary = [&](std::vector<std::string> arguments) {
    const std::string file = directory / "r.json";
    EXPECT_EQ(measure(file, std::move(arguments)).exit_code, 0);
    const auto rows = repetitions(document(file));
    for (const Json& row : rows) {
      const double reading = row.value("canary_ns", 1e7);  // About 10 ms, in whatever build.
      EXPECT_GT(reading, 1e5);
      EXPECT_LT(reading, 6e10);
    }
    return rows.front().contains("canary_ns");
  };
  EXPECT_TRUE(has_canary({"--benchmark_filter=ok/loop", "--benchmark_min_time=0.01"}));
  EXPECT_FALSE(has_canary({"--benchmark_filter=ok/real_time", "--benchmark_min_time=0.01"}))
      << "its time is not the CPU's";
  EXPECT_FALSE(has_canary({"--benchmark_filter=ok/loop", "--plimsoll_ops=10"}))
      << "whoever fixes the operations pairs them";
}

TEST(ResultFile, ShuffledRepetitionsKeepTheirOwnRecords) {
  const TemporaryDirectory directory;
  const std::string file = directory / "r.json";
  ASSERT_EQ(measure(file, {"--benchmark_enable_random_interleaving=true",
                           "--benchmark_repetitions=5", "--benchmark_min_time=0.001",
                           "--benchmark_filter=ok/(loop|real_time|declared)"})
                .exit_code,
            0);
  const auto rows = repetitions(document(file));
  ASSERT_EQ(rows.size(), 15U);
  for (const Json& row : rows) {
    const bool is_real_time = row.at("name") == "probe/ok/real_time/param:7";
    EXPECT_EQ(row.at("plimsoll").at("resource"), is_real_time ? "io" : "cpu");
    EXPECT_EQ(row.contains("probe_widgets"), row.at("name") == "probe/ok/declared");
  }
}

TEST(ResultFile, TwoSessionsDifferInIdAndShareBuildAndMachine) {
  const TemporaryDirectory directory;
  std::vector<Json> contexts;
  for (const char* name : {"a.json", "b.json"}) {
    ASSERT_EQ(
        measure(directory / name, {"--plimsoll_ops=10", "--benchmark_filter=ok/loop"}).exit_code,
        0);
    contexts.push_back(document(directory / name).at("context").at("plimsoll"));
  }
  EXPECT_NE(contexts[0].at("session"), contexts[1].at("session"));
  EXPECT_EQ(contexts[0].at("build"), contexts[1].at("build"));
  EXPECT_EQ(contexts[0].at("machine"), contexts[1].at("machine"));
}

TEST(ResultFile, IsValidJsonWhateverACaseDid) {
  const TemporaryDirectory directory;
  const std::string file = directory / "r.json";
  EXPECT_EQ(measure(file, {"--plimsoll_ops=10", "--benchmark_repetitions=1",
                           "--benchmark_filter=probe/bad/"})
                .exit_code,
            1);
  const Json parsed = document(file);
  ASSERT_TRUE(parsed.is_object());
  const auto rows = repetitions(parsed);
  EXPECT_EQ(rows.size(), 12U);
  for (const Json& row : rows) {
    EXPECT_EQ(row.at("error_occurred"), true) << row;
    EXPECT_FALSE(row.at("error_message").get<std::string>().empty());
    EXPECT_EQ(row.at("real_time"), 0.0) << "a failed case has no time";
    EXPECT_FALSE(row.contains("latency_us_p50"));
  }
}

TEST(ResultFile, KeepsBothInvariantsOfAFailedCase) {
  const TemporaryDirectory directory;
  const std::string file = directory / "r.json";
  EXPECT_EQ(measure(file, {"--plimsoll_ops=10", "--benchmark_filter=bad/invariant"}).exit_code, 1);
  const Json invariants = repetitions(document(file)).at(0).at("plimsoll").at("invariants");
  EXPECT_EQ(invariants.at("kept"), (Json{{"value", 0}, {"expected", 0}}));
  EXPECT_EQ(invariants.at("lost"), (Json{{"value", 3}, {"expected", 0}}));
}

TEST(ResultFile, AKilledRunLeavesTheCasesThatHadEnded) {
  const TemporaryDirectory directory;
  const std::string file = directory / "r.json";
  Process probe(PLIMSOLL_PROBE, {"--plimsoll_ops=2", "--benchmark_repetitions=1",
                                 "--benchmark_filter=probe/slow", "--benchmark_out=" + file});
  ASSERT_TRUE(wait_for_rows(file, 1));
  probe.signal(SIGKILL);
  EXPECT_EQ(probe.wait().signal, SIGKILL);
  const Json parsed = document(file);
  ASSERT_TRUE(parsed.is_object());
  EXPECT_EQ(parsed.at("context").at("plimsoll").at("complete"), false);
  EXPECT_EQ(repetitions(parsed).at(0).at("name"), "probe/slow/first");
}

TEST(ResultFile, AnInterruptedRunEndsTheCaseThatRunsAndNoOther) {
  for (const int number : {SIGINT, SIGTERM}) {
    const TemporaryDirectory directory;
    const std::string file = directory / "r.json";
    Process probe(PLIMSOLL_PROBE, {"--plimsoll_ops=4", "--benchmark_repetitions=1",
                                   "--benchmark_filter=probe/slow", "--benchmark_out=" + file});
    ASSERT_TRUE(wait_for_rows(file, 1));
    probe.signal(number);
    const Ended ended = probe.wait();
    EXPECT_EQ(ended.exit_code, 128 + number);
    EXPECT_THAT(ended.out, HasSubstr("not run"));
    EXPECT_THAT(ended.err, HasSubstr("once more ends at once"));
    const Json parsed = document(file);
    EXPECT_EQ(parsed.at("context").at("plimsoll").at("complete"), false);
    for (const Json& row : repetitions(parsed)) EXPECT_FALSE(row.contains("error_occurred")) << row;
    EXPECT_LT(repetitions(parsed).size(), 3U);
  }
}

TEST(ResultFile, IsNotCompleteWhereTheLastCaseLacksRepetitions) {
  const TemporaryDirectory directory;
  const std::string file = directory / "r.json";
  // Of 2 s each, so that the signal comes into the first.
  Process probe(PLIMSOLL_PROBE, {"--plimsoll_ops=10", "--benchmark_repetitions=3",
                                 "--benchmark_filter=probe/slow/first", "--benchmark_out=" + file});
  ASSERT_TRUE(wait_for_rows(file, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  probe.signal(SIGINT);
  const Ended ended = probe.wait();
  EXPECT_EQ(ended.exit_code, 128 + SIGINT);
  EXPECT_THAT(ended.out, HasSubstr("1 not run"));
  const Json parsed = document(file);
  EXPECT_EQ(parsed.at("context").at("plimsoll").at("complete"), false);
  EXPECT_EQ(repetitions(parsed).size(), 1U) << "what had ended is kept";
}

TEST(ResultFile, NothingElseIsLeftInItsDirectory) {
  const TemporaryDirectory directory;
  ASSERT_EQ(
      measure(directory / "new/sub/r.json", {"--plimsoll_ops=10", "--benchmark_filter=ok/loop"})
          .exit_code,
      0);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "new/sub")) {
    names.push_back(entry.path().filename());
  }
  EXPECT_EQ(names, std::vector<std::string>{"r.json"});
}

TEST(ResultFile, MayBeNamedWithoutADirectory) {
  const TemporaryDirectory directory;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory / ".");
  const int exit_code = measure("bare.json", {"--benchmark_filter=ok/loop"}).exit_code;
  std::filesystem::current_path(before);
  EXPECT_EQ(exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(directory / "bare.json"));
}

TEST(ResultFile, AnOldResultIsNeverMistakenForThisRuns) {
  const TemporaryDirectory directory;
  const std::string file = directory / "r.json";
  ASSERT_EQ(measure(file, {"--plimsoll_ops=10", "--benchmark_filter=ok/loop"}).exit_code, 0);
  Process probe(PLIMSOLL_PROBE, {"--plimsoll_ops=20", "--benchmark_repetitions=1",
                                 "--benchmark_filter=probe/slow/first", "--benchmark_out=" + file});
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (!document(file).at("benchmarks").empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(document(file).at("benchmarks").size(), 0U);
}

TEST(ResultFile, TheEnvironmentNamesItAsForGoogleBenchmark) {
  const TemporaryDirectory directory;
  const std::string file = directory / "r.json";
  ASSERT_EQ(
      run_probe({"--plimsoll_ops=10"}, {{"BENCHMARK_OUT", file}, {"BENCHMARK_FILTER", "ok/loop"}})
          .exit_code,
      0);
  // Google Benchmark reads the variable too; it must not have written over ours.
  EXPECT_TRUE(document(file).at("context").contains("plimsoll"));
}

TEST(ResultFile, GooglesOwnCompareReadsIt) {
  const TemporaryDirectory directory;
  for (const char* name : {"a.json", "b.json"}) {
    // A failed case and one with aggregates are among the rows that it must swallow.
    ASSERT_EQ(
        measure(directory / name, {"--plimsoll_ops=1000", "--benchmark_repetitions=9",
                                   "--benchmark_filter=probe/(ok/(loop|declared)|bad/invariant)"})
            .exit_code,
        1);
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string root = cache != nullptr && *cache != '\0'
                               ? cache
                               : std::string(home != nullptr ? home : "") + "/.cache";
  // ci/setup unpacks SciPy here: installing its package would pull in a Boost that conflicts with
  // ours.
  const std::string scipy = root + "/plimsoll/packages/python3-scipy/usr/lib/python3/dist-packages";
  const std::string compare = "/usr/share/benchmark/compare.py";
  ASSERT_TRUE(std::filesystem::exists(compare))
      << "this test needs Debian's package libbenchmark-tools";
  const Ended imports =
      Process("/usr/bin/python3", {"-c", "import numpy, scipy.stats"}, {{"PYTHONPATH", scipy}})
          .wait();
  ASSERT_EQ(imports.exit_code, 0)
      << "this test needs Debian's packages python3-numpy, and python3-scipy installed or "
      << "unpacked into " << scipy << ", which ci/setup does\n"
      << imports.err;
  const Ended ended =
      Process("/usr/bin/python3",
              {compare, "--no-color", "benchmarks", directory / "a.json", directory / "b.json"},
              {{"PYTHONPATH", scipy}})
          .wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("probe/ok/loop"));
  EXPECT_THAT(ended.out, HasSubstr("probe/ok/loop_pvalue"));
}

}  // namespace
}  // namespace plimsoll::bench::testing
