// Runs the program itself: what a person types, and what they get.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compare/test_directory.hpp"

namespace plimsoll::compare {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct Ran {
  int exit = -1;
  std::string out;
  std::string err;
};

/// A working directory in which the program is run, with a state directory of its own.
class Shell : public TestDirectory {
 public:
  [[nodiscard]] Ran operator()(const std::string& arguments) const {
    const std::string command =
        fmt::format("cd '{}' && XDG_STATE_HOME='{}/state' {} {} >out.txt 2>err.txt </dev/null",
                    path(), path(), PLIMSOLL_COMPARE, arguments);
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out.txt"), read("err.txt")};
  }
};

/// A plain file with one benchmark a time, each with these repetitions.
std::string plain(const std::vector<double>& times, const std::string& name = "work") {
  std::string rows;
  for (std::size_t i = 0; i < times.size(); ++i) {
    rows += fmt::format(
        R"({}{{"name": "{}", "run_name": "{}", "run_type": "iteration", "repetitions": {},
            "repetition_index": {}, "iterations": 1000, "real_time": {}, "cpu_time": {},
            "time_unit": "ns"}})",
        rows.empty() ? "" : ",", name, name, times.size(), i, times[i], times[i]);
  }
  return fmt::format(R"({{"context": {{"num_cpus": 2}}, "benchmarks": [{}]}})", rows);
}

struct Ours {
  std::string session = "s1";
  std::string group = "g";
  std::string klass = "m1";
  std::string build = "b1";
  std::string resource = "cpu";
  std::string validity = "VALID";
  std::string type = "RelWithDebInfo";
  double time = 100;
  double allocs = 2;
  int lost = 0;
};

std::string ours(const Ours& facts) {
  return fmt::format(
      R"({{"context": {{"date": "2026-11-30", "plimsoll": {{"schema": 1, "group": "{0}",
        "size": "short", "session": "{1}", "build": {{"type": "{2}", "build_id": "{3}",
        "commit": "unknown", "dirty": false}}, "machine": {{"class": "{4}"}}, "infra": {{}},
        "metrics": {{"allocs": {{"unit": "1/op", "better": "exact", "class": "work"}}}}}}}},
      "benchmarks": [{{"name": "{0}/s/c", "run_name": "{0}/s/c", "run_type": "iteration",
        "repetitions": 1, "repetition_index": 0, "real_time": {5}, "cpu_time": {5},
        "time_unit": "ns", "allocs": {6}, "plimsoll": {{"resource": "{7}", "gate": true,
        "validity": {{"verdict": "{8}", "reasons": []}},
        "invariants": {{"lost": {{"value": {9}, "expected": 0}}}}}}}}]}})",
      facts.group, facts.session, facts.type, facts.build, facts.klass, facts.time, facts.allocs,
      facts.resource, facts.validity, facts.lost);
}

/// Records eight sessions of the given facts in baselines/.
void record_eight(const Shell& shell, Ours facts) {
  std::string files;
  for (int i = 0; i < 8; ++i) {
    facts.session = fmt::format("old{}", i);
    files += " " + shell.write(facts.session + ".json", ours(facts));
  }
  const Ran recorded = shell("record" + files);
  ASSERT_EQ(recorded.exit, 0) << recorded.err;
}

std::string one_line(const std::string& text) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  return text;
}

// --- Usage
// ----------------------------------------------------------------------------------------

TEST(Cli, AnUnknownWordIsAnsweredByTheNearestValidOne) {
  const Shell shell;
  shell.write("results.json", plain({1}));
  struct Row {
    const char* arguments;
    const char* names;
  };
  const Row rows[] = {
      {"chekc results.json results.json", "nearest: check"},
      {"check --basline x results.json", "nearest: --baseline"},
      {"--hepl", "nearest: --help"},
      {"check result.json results.json", "nearest: results.json"},
      {"show reslts.json", "nearest: results.json"},
      {"check results.json results.json --metric real_tim=lower", "nearest: real_time"},
      {"check results.json results.json --metric real_time=hihger", "nearest: higher"},
      {"check results.json results.json --retired no-such-list", "no such file"},
      {"check results.json results.json --ab sometimes", "--ab"},
      {"check results.json", "OLD results.json"},
      {"check", "FILES"},
      {"", "one of: check"},
      {"ab --fliter x", "nearest: --filter"},
  };
  for (const Row& row : rows) {
    const Ran ran = shell(row.arguments);
    EXPECT_EQ(ran.exit, 2) << row.arguments;
    EXPECT_THAT(one_line(ran.err), AllOf(StartsWith("plimsoll-compare"), HasSubstr(row.names)));
    EXPECT_THAT(ran.out, IsEmpty());
  }
}

TEST(Cli, HelpIsNoError) {
  const Shell shell;
  EXPECT_EQ(shell("--help").exit, 0);
  const Ran ran = shell("check --help");
  EXPECT_EQ(ran.exit, 0);
  EXPECT_THAT(ran.out, HasSubstr("--base-tree"));
}

TEST(Cli, ADamagedFileIsNamedWithByteAndReasonByEveryVerb) {
  const Shell shell;
  shell.write("cut.json", plain({1}).substr(0, 60));
  for (const char* verb :
       {"check cut.json cut.json", "show cut.json", "record cut.json", "merge cut.json"}) {
    const Ran ran = shell(verb);
    EXPECT_EQ(ran.exit, 2) << verb;
    EXPECT_THAT(one_line(ran.err), HasSubstr("cut.json: byte 60 (1:61): "));
  }
}

TEST(Cli, AnOutputThatCannotBeWrittenIsAnError) {
  const Shell shell;
  shell.write("a.json", plain({1}));
  EXPECT_EQ(shell("check a.json a.json --json /proc/none/x.json").exit, 2);
  EXPECT_EQ(shell("merge a.json --out /proc/none/x.json").exit, 2);
}

// --- Two plain files
// --------------------------------------------------------------------------------

TEST(Cli, TwoPlainFilesAreJudged) {
  struct Row {
    const char* why;
    std::vector<double> before;
    std::vector<double> after;
    int exit;
    const char* last;
  };
  const Row rows[] = {
      {"equal", {100}, {100}, 0, "OK: nothing got worse\n"},
      {"a suspicion", {100}, {120}, 3, "INCONCLUSIVE: work cpu_time +20.0 %, and 1 more\n"},
      {"outright", {100}, {160}, 1, "REGRESSION: work cpu_time +60.0 %, and 1 more\n"},
      {"better", {100}, {50}, 0, "OK: nothing got worse\n"},
  };
  for (const Row& row : rows) {
    const Shell shell;
    shell.write("old.json", plain(row.before));
    shell.write("new.json", plain(row.after));
    const Ran ran = shell("check old.json new.json");
    EXPECT_EQ(ran.exit, row.exit) << row.why;
    EXPECT_THAT(ran.out, EndsWith(row.last)) << row.why;
    EXPECT_EQ(shell("check new.json --baseline old.json").exit, row.exit) << row.why;
  }
}

TEST(Cli, FiveSessionsASideAreATest) {
  const Shell shell;
  for (int i = 0; i < 5; ++i) {
    shell.write(fmt::format("old/{}.json", i), plain({100.0 + i}));
    shell.write(fmt::format("new/{}.json", i), plain({120.0 + i}));
  }
  EXPECT_EQ(shell("check old new").exit, 1);
  EXPECT_EQ(shell("merge old --out old.json").exit, 0);
  EXPECT_EQ(shell("merge new --out new.json").exit, 0);
  const Ran ran = shell("check old.json new.json");
  EXPECT_EQ(ran.exit, 1) << "merged files keep their sessions";
  EXPECT_THAT(ran.out, HasSubstr("p = 0.0079, 5 v 5"));
  EXPECT_EQ(shell("check old old").exit, 0);
}

TEST(Cli, RepetitionsAreATestOnlyWhereTheCallerKnowsThemInterleaved) {
  const Shell shell;
  std::vector<double> before;
  std::vector<double> after;
  for (int i = 0; i < 10; ++i) {
    before.push_back(100 + i);
    after.push_back(125 + i);
  }
  shell.write("old.json", plain(before));
  shell.write("new.json", plain(after));
  EXPECT_EQ(shell("check old.json new.json").exit, 3);
  EXPECT_EQ(shell("check old.json new.json --interleaved").exit, 1);
}

TEST(Cli, MeasuringNothingIsNoPass) {
  const Shell shell;
  shell.write("old.json", plain({100}));
  shell.write("empty.json", "");
  shell.write("other.json", plain({100}, "renamed"));
  EXPECT_EQ(shell("check old.json empty.json").exit, 4);
  EXPECT_EQ(shell("check empty.json old.json").exit, 4);
  EXPECT_EQ(shell("check old.json other.json").exit, 4);
  shell.write("gone.txt", "# renamed last week\nwork\n");
  EXPECT_EQ(shell("check old.json other.json --retired gone.txt").exit, 0);
}

TEST(Cli, AMetricIsJudgedAsTheCallerDeclaresIt) {
  const Shell shell;
  const auto with_counter = [](double value) {
    std::string text = plain({100});
    return text.insert(text.rfind("}]}"), fmt::format(", \"p99_us\": {}", value));
  };
  shell.write("old.json", with_counter(10));
  shell.write("new.json", with_counter(30));
  EXPECT_EQ(shell("check old.json new.json").exit, 0) << "no direction is guessed";
  EXPECT_EQ(shell("check old.json new.json --metric p99_us=lower:10").exit, 1);
  EXPECT_EQ(shell("check old.json new.json --metric p99_us=higher").exit, 0);
  EXPECT_EQ(shell("check old.json new.json --metric p99_us=exact").exit, 5);
  EXPECT_EQ(shell("check old.json new.json --metric p99_us=lower:nan").exit, 2);
}

// --- Against recorded baselines
// ---------------------------------------------------------------------

TEST(Cli, NewResultsAreHeldAgainstWhatWasRecorded) {
  const Shell shell;
  record_eight(shell, {});
  struct Row {
    const char* why;
    Ours fresh;
    int exit;
  };
  const Row rows[] = {
      {"equal", {.session = "n", .build = "b2"}, 0},
      {"slower", {.session = "n", .build = "b2", .time = 200}, 3},
      {"slower by the same machine code", {.session = "n", .time = 200}, 0},
      {"one allocation more", {.session = "n", .allocs = 3}, 5},
      {"an invariant broken", {.session = "n", .lost = 1}, 5},
      {"not to be believed", {.session = "n", .build = "b2", .validity = "NOT_STEADY"}, 3},
      {"the server died", {.session = "n", .validity = "SERVER_CRASHED"}, 4},
  };
  for (const Row& row : rows) {
    shell.write("new.json", ours(row.fresh));
    const Ran ran = shell("check new.json --ab never");
    EXPECT_EQ(ran.exit, row.exit) << row.why << "\n" << ran.out << ran.err;
  }
}

TEST(Cli, ADatabaseCaseOfAnotherBuildIsAlwaysASuspect) {
  const Shell shell;
  record_eight(shell, {.resource = "db"});
  shell.write("new.json", ours({.session = "n", .build = "b2", .resource = "db"}));
  const Ran ran = shell("check new.json");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("unscreened"), HasSubstr("cannot be re-run")));
}

TEST(Cli, AMachineClassWithoutBaselineKeepsItsFirstTimesOutsideOfTheRepository) {
  const Shell shell;
  record_eight(shell, {});
  shell.write("new.json", ours({.session = "n1", .klass = "m2", .build = "b2", .time = 500}));
  const Ran first = shell("check new.json");
  EXPECT_EQ(first.exit, 0) << first.out << first.err;
  EXPECT_THAT(first.out, HasSubstr("no baseline for machine class m2"));
  EXPECT_THAT(shell.read("state/plimsoll/baselines/m2/short/g.json"), HasSubstr("\"n1\""));
  EXPECT_FALSE(std::filesystem::exists(shell.path() + "/baselines/m2"));

  shell.write("again.json", ours({.session = "n2", .klass = "m2", .build = "b2", .time = 900}));
  const Ran second = shell("check again.json");
  EXPECT_EQ(second.exit, 0) << "the same binary";
  EXPECT_THAT(second.out, Not(HasSubstr("no baseline")));

  shell.write("worse.json", ours({.session = "n3", .klass = "m3", .build = "b2", .allocs = 3}));
  EXPECT_EQ(shell("check worse.json").exit, 5) << "counters are held against any class";
  EXPECT_FALSE(std::filesystem::exists(shell.path() + "/state/plimsoll/baselines/m3"));
}

TEST(Cli, ResultsOfTwoGroupsAreTwoNewResults) {
  const Shell shell;
  record_eight(shell, {});
  record_eight(shell, {.group = "h"});
  shell.write("g.json", ours({.session = "n1"}));
  shell.write("h.json", ours({.session = "n2", .group = "h"}));
  EXPECT_EQ(shell("check g.json h.json").exit, 0);
  shell.write("h.json", ours({.session = "n2", .group = "h", .allocs = 9}));
  EXPECT_EQ(shell("check g.json h.json").exit, 5);
  EXPECT_THAT(shell("check g.json g.json").out, HasSubstr("against 1 old one"));
}

TEST(Cli, OnlyWhatMayBeABaselineIsRecorded) {
  const Shell shell;
  shell.write("plain.json", plain({1}));
  shell.write("debug.json", ours({.type = "Debug"}));
  shell.write("contended.json", ours({.validity = "HOST_CONTENDED"}));
  shell.write("empty.json", "");
  EXPECT_EQ(shell("record plain.json").exit, 2);
  EXPECT_EQ(shell("record debug.json").exit, 2);
  EXPECT_EQ(shell("record contended.json").exit, 4);
  EXPECT_EQ(shell("record empty.json").exit, 4);
  EXPECT_FALSE(std::filesystem::exists(shell.path() + "/baselines"));
  shell.write("good.json", ours({}));
  EXPECT_EQ(shell("record good.json --to kept").exit, 0);
  const std::string once = shell.read("kept/m1/short/g.json");
  EXPECT_EQ(shell("record good.json --to kept").exit, 0);
  EXPECT_EQ(shell.read("kept/m1/short/g.json"), once);
}

TEST(Cli, AWrongBaseIsAnErrorAndNotASuspect) {
  const Shell shell;
  record_eight(shell, {});
  shell.write("new.json", ours({.session = "n", .build = "b2", .time = 200}));
  const Ran ran = shell("check new.json --base-tree no-such-tree");
  EXPECT_EQ(ran.exit, 2);
  EXPECT_THAT(one_line(ran.err), HasSubstr("no-such-tree"));
}

// --- Output
// -----------------------------------------------------------------------------------------

TEST(Cli, EqualInputsGiveEqualBytes) {
  const Shell shell;
  shell.write("old.json", plain({100, 104, 99}));
  shell.write("new.json", plain({120, 130, 125}));
  const Ran first = shell("check old.json new.json --all --json a.json");
  const Ran second = shell("check old.json new.json --all --json b.json");
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(shell.read("a.json"), shell.read("b.json"));
  const json parsed = json::parse(shell.read("a.json"));
  EXPECT_EQ(parsed.at("exit"), first.exit);
  EXPECT_EQ(parsed.at("findings").size(), 2U);
}

TEST(Cli, ShowPrintsResultsAndBaselines) {
  const Shell shell;
  record_eight(shell, {});
  EXPECT_THAT(shell("show old0.json").out, AllOf(HasSubstr("g/s/c"), HasSubstr("100 ns")));
  EXPECT_THAT(shell("show baselines/m1/short/g.json").out, HasSubstr("session old7"));
}

// Every trap of the format as a file: what `show` says about it, and how it exits, is beside it. A
// change of either is seen in the diff of the .golden file.
TEST(Cli, SaysOfEveryTrapWhatItsGoldenFileSays) {
  const Shell shell;
  std::size_t traps = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PLIMSOLL_TESTDATA)) {
    if (entry.path().extension() != ".json") continue;
    ++traps;
    const std::string name = entry.path().filename().string();
    std::filesystem::copy_file(entry.path(), shell.path() + "/" + name);
    const Ran ran = shell("show " + name);
    std::ifstream golden(entry.path().string() + ".golden", std::ios::binary);
    const std::string expected{std::istreambuf_iterator<char>(golden), {}};
    EXPECT_EQ(fmt::format("{}{}exit {}\n", ran.out, ran.err, ran.exit), expected) << name;
  }
  EXPECT_GT(traps, 15U);
}

TEST(Cli, ReadsWhatGoogleBenchmarkItselfWrote) {
  const Shell shell;
  const Ran ran =
      shell("check " PLIMSOLL_TESTDATA "/zoo_1_7_1.json " PLIMSOLL_TESTDATA "/zoo_1_7_1.json");
  EXPECT_EQ(ran.exit, 4) << "it has a benchmark that failed";
  EXPECT_THAT(ran.out, AllOf(HasSubstr("no database"), HasSubstr("INCOMPLETE: err")));
}

}  // namespace
}  // namespace plimsoll::compare
