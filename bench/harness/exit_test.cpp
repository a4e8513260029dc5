// How a bench binary ends, seen from outside: the probe is run as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/harness/testing/process.hpp"

namespace plimsoll::bench::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kQuick{"--benchmark_min_time=0.001", "--benchmark_repetitions=2"};

std::vector<std::string> quick(const std::string& filter, std::vector<std::string> more = {}) {
  more.insert(more.end(), kQuick.begin(), kQuick.end());
  more.push_back("--benchmark_filter=" + filter);
  return more;
}

long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Gate, ClosedUnderCtestItSkipsWithTheWayToOpenIt) {
  const Ended ended = run_probe(quick("ok/loop"), {{"PLIMSOLL_GATED", "1"}});
  EXPECT_EQ(ended.exit_code, 77);
  EXPECT_THAT(ended.out, HasSubstr("PLIMSOLL_BENCH=1 ctest -L bench"));
  EXPECT_EQ(lines(ended.out), 1);
}

TEST(Gate, OnlyTheValueOneOpensIt) {
  EXPECT_EQ(
      run_probe(quick("ok/loop"), {{"PLIMSOLL_GATED", "1"}, {"PLIMSOLL_BENCH", "0"}}).exit_code,
      77);
  EXPECT_EQ(
      run_probe(quick("ok/loop"), {{"PLIMSOLL_GATED", "1"}, {"PLIMSOLL_BENCH", "1"}}).exit_code, 0);
}

TEST(Gate, ByHandThereIsNone) { EXPECT_EQ(run_probe(quick("ok/loop")).exit_code, 0); }

struct BadCase {
  std::string name;
  std::string reason;
};

class EveryBadCase : public ::testing::TestWithParam<BadCase> {};

TEST_P(EveryBadCase, ExitsOneWithItsReasonAndLeavesItsNeighboursAlone) {
  const Ended ended = run_probe(quick("(bad/" + GetParam().name + "|ok/loop)$"));
  EXPECT_EQ(ended.exit_code, 1) << ended.out << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("FAILED"), HasSubstr(GetParam().reason),
                               HasSubstr("2 cases, 1 failed")));
}

INSTANTIATE_TEST_SUITE_P(
    Probe, EveryBadCase,
    ::testing::Values(BadCase{"skips", "skipped by hand"},
                      BadCase{"throws", "the body threw: thrown in the loop"},
                      BadCase{"throws_int", "not a std::exception"},
                      BadCase{"nan", "counter 'latency_us_p50' is nan"},
                      BadCase{"raw_infinity", "counter 'items_per_second' is inf"},
                      BadCase{"undeclared", "'latency_us_p51' is not in the metrics table"},
                      BadCase{"raw_undeclared", "'mystery' is not in the metrics table"},
                      BadCase{"no_loop", "returned before its loop had ended"},
                      BadCase{"leaves_loop", "returned before its loop had ended"},
                      BadCase{"invariant", "invariant lost is 3, expected 0"},
                      BadCase{"silent_load", "ended without report()"}),
    [](const auto& tested) { return tested.param.name; });

struct BadUsage {
  std::string name;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  std::string said;
};

class EveryBadUsage : public ::testing::TestWithParam<BadUsage> {};

TEST_P(EveryBadUsage, ExitsTwoWithOneLineThatHelps) {
  const Ended ended = run_probe(GetParam().arguments, GetParam().environment);
  EXPECT_EQ(ended.exit_code, 2) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(GetParam().said));
  EXPECT_EQ(lines(ended.err), 1) << ended.err;
}

INSTANTIATE_TEST_SUITE_P(
    Probe, EveryBadUsage,
    ::testing::Values(
        BadUsage{"UnknownFlag", {"--plimsol_size=full"}, {}, "did you mean '--plimsoll_size'?"},
        BadUsage{"UnknownGoogleFlag",
                 {"--benchmark_filtre=x"},
                 {},
                 "did you mean '--benchmark_filter'?"},
        BadUsage{"StrayWord", {"smoke"}, {}, "unknown flag 'smoke'"},
        BadUsage{"FilterSelectsNothing", {"--benchmark_filter=lopp"}, {}, "the nearest is 'loop'"},
        BadUsage{"FilterIsNoRegex",
                 {"--benchmark_filter=ok/(loop"},
                 {},
                 "not a POSIX extended regular expression"},
        BadUsage{"SizeInEnvironment",
                 {},
                 {{"PLIMSOLL_SIZE", "huge"}},
                 "PLIMSOLL_SIZE: 'huge' is not a size"},
        BadUsage{"Size", {"--plimsoll_size=shrt"}, {}, "did you mean 'short'?"},
        BadUsage{"Operations", {"--plimsoll_ops=0"}, {}, "--plimsoll_ops: '0' is not"},
        BadUsage{"Seed", {"--plimsoll_seed=-1"}, {}, "--plimsoll_seed: '-1' is not"},
        BadUsage{
            "MinTime", {"--benchmark_min_time=soon"}, {}, "--benchmark_min_time: 'soon' is not"},
        BadUsage{"Iterations",
                 {"--benchmark_min_time=1000000001x"},
                 {},
                 "'1000000001x' is not a count of iterations from 1x to 1000000000x"},
        BadUsage{"IterationsBeyondAllCounters",
                 {"--benchmark_min_time=18446744073709551615x"},
                 {},
                 "is not a count of iterations"},
        BadUsage{"Repetitions", {"--benchmark_repetitions=none"}, {}, "'none' is not a count"},
        BadUsage{"Format", {"--benchmark_format=xml"}, {}, "'xml' is not console or json"},
        BadUsage{"FormatInEnvironment", {}, {{"BENCHMARK_FORMAT", "xml"}}, "as BENCHMARK_FORMAT"},
        BadUsage{"Csv", {"--benchmark_out_format=csv"}, {}, "use json"},
        BadUsage{
            "AggregatesOnly", {"--benchmark_report_aggregates_only=true"}, {}, "cannot be judged"},
        BadUsage{"GoogleValue", {"--benchmark_context=novalue"}, {}, "--benchmark_context=novalue"},
        BadUsage{"SmokeWithFile",
                 {"--plimsoll_size=smoke", "--benchmark_out=x.json"},
                 {},
                 "writes no numbers"},
        BadUsage{"TwoCounts", {"--plimsoll_ops=5", "--benchmark_min_time=1"}, {}, "use one"},
        BadUsage{"OutIsADirectory",
                 {"--benchmark_filter=ok/loop", "--benchmark_out=/tmp"},
                 {},
                 "'/tmp' is no file"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Registration, AGroupWithoutCasesHasRunNothing) {
  const Ended ended = run_probe({}, {{"PROBE_MISTAKE", "empty"}});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("no cases"));
}

TEST(Registration, MistakesEndTheBinaryBeforeAnythingRuns) {
  const std::map<std::string, std::string> expected{
      {"duplicate", "'probe/ok/loop' is registered twice"},
      {"name", "'other/ok/loop' does not begin with its group"},
      {"metric", "'probe_widgets' is declared twice"}};
  for (const auto& [mistake, reason] : expected) {
    const Ended ended = run_probe(quick("ok/loop"), {{"PROBE_MISTAKE", mistake}});
    EXPECT_EQ(ended.exit_code, 1) << mistake;
    EXPECT_THAT(ended.err, HasSubstr(reason));
    EXPECT_EQ(ended.out, "");
  }
}

TEST(Registration, AnExceptionEndsTheBinaryWithOneLine) {
  for (const auto& [mistake, reason] :
       {std::pair{"throws", "thrown while registering"}, std::pair{"throws_int", "not a std::"}}) {
    const Ended ended = run_probe({}, {{"PROBE_MISTAKE", mistake}});
    EXPECT_EQ(ended.exit_code, 1) << mistake;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("bench_probe: "), HasSubstr(reason)));
    EXPECT_EQ(lines(ended.err), 1) << ended.err;
  }
}

TEST(Sizes, AnEmptyVariableIsNone) {
  const Ended ended = run_probe(quick("ok/loop"), {{"PLIMSOLL_SIZE", ""}});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("size short"));
}

TEST(Sizes, SmokeRunsEveryGoodCaseOnce) {
  const Ended ended = run_probe({"--plimsoll_size=smoke", "--benchmark_filter=probe/ok/"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out;
  // The spread is of repetitions, and there is one.
  EXPECT_THAT(ended.out, AllOf(HasSubstr("size smoke"), Not(ContainsRegex("[+][0-9.]+ %"))));
}

TEST(Flags, HelpAndListsRunNothing) {
  const Ended help = run_probe({"--plimsoll_help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("--plimsoll_size=smoke|short|full"));
  for (const char* flag :
       {"--plimsoll_list", "--benchmark_list_tests", "--benchmark_list_tests=true"}) {
    const Ended listed = run_probe({flag, "--benchmark_filter=ok/(loop|real_time)"});
    EXPECT_EQ(listed.exit_code, 0);
    EXPECT_EQ(listed.out, "probe/ok/loop\nprobe/ok/real_time/param:7\n");
  }
}

TEST(Flags, TheFilterIsAnchoredAtOurNamesAndMayBeInverted) {
  EXPECT_EQ(run_probe({"--plimsoll_list", "--benchmark_filter=^probe/ok/real_time/param:7$"}).out,
            "probe/ok/real_time/param:7\n");
  EXPECT_THAT(run_probe({"--plimsoll_list", "--benchmark_filter=-probe/(bad|slow)"}).out,
              AllOf(HasSubstr("probe/ok/loop"), Not(HasSubstr("probe/bad"))));
}

TEST(Terminal, NothingOfGoogleBenchmarksOwnContextIsPrinted) {
  const Ended ended = run_probe(quick("ok/loop"));
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out, Not(HasSubstr("***WARNING***")));
}

TEST(Terminal, AFullStdoutIsAFailureInOneLine) {
  const std::vector<std::vector<std::string>> all{quick("ok/loop"),
                                                  quick("ok/loop", {"--benchmark_format=json"}),
                                                  {"--plimsoll_list"},
                                                  {"--plimsoll_help"}};
  for (const auto& arguments : all) {
    const Ended ended = run_probe_into("/dev/full", arguments);
    EXPECT_EQ(ended.exit_code, 1) << arguments.front();
    EXPECT_THAT(ended.err, HasSubstr("stdout cannot be written to"));
    EXPECT_EQ(lines(ended.err), 1) << ended.err;
  }
}

TEST(Terminal, JsonOnStdoutIsAllThatIsThere) {
  const Ended ended = run_probe(quick("ok/loop", {"--benchmark_format=json"}));
  EXPECT_EQ(ended.exit_code, 0);
  const auto document = nlohmann::json::parse(ended.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << ended.out;
  EXPECT_EQ(document["benchmarks"][0]["name"], "probe/ok/loop");
}

}  // namespace
}  // namespace plimsoll::bench::testing
