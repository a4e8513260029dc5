// Runs the program itself under what goes wrong around it, and `ab` to a verdict.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "compare/test_directory.hpp"

namespace plimsoll::compare {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Runs it with the directory as the current one; `arguments` may redirect.
int run(const TestDirectory& directory, const std::string& arguments) {
  const int status = std::system(
      fmt::format("cd '{}' && {} {}", directory.path(), PLIMSOLL_COMPARE, arguments).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string rows_of(const std::string& rows) {
  return R"({"context": {"num_cpus": 2}, "benchmarks": [)" + rows + "]}";
}

const char* const kRow = R"({"name": "work", "run_name": "work", "run_type": "iteration",
  "repetitions": 2, "repetition_index": 0, "iterations": 1, "real_time": 100, "cpu_time": 100,
  "time_unit": "ns"})";

TEST(CliFaults, AbRunsToAVerdict) {
  const TestDirectory directory;
  const std::string arguments =
      fmt::format("ab {} {} --pairs 12 --filter plain/waits >out.txt 2>err.txt", PLIMSOLL_AB_PLAIN,
                  PLIMSOLL_AB_PLAIN_SLOW);
  EXPECT_EQ(run(directory, arguments), 1) << directory.read("err.txt");
  EXPECT_THAT(directory.read("out.txt"), HasSubstr("plain/waits"));
}

TEST(CliFaults, AFullStandardOutputIsAFailureOfEveryVerb) {
  const TestDirectory directory;
  directory.write("a.json", rows_of(kRow));
  for (const std::string& verb : {std::string("check a.json a.json"), std::string("show a.json"),
                                  fmt::format("ab {} {} --pairs 12 --filter plain/waits",
                                              PLIMSOLL_AB_PLAIN, PLIMSOLL_AB_PLAIN_SLOW)}) {
    EXPECT_EQ(run(directory, verb + " >/dev/full 2>err.txt"), 2) << verb;
    EXPECT_THAT(directory.read("err.txt"), Not(HasSubstr("terminate"))) << verb;
  }
}

TEST(CliFaults, AStandardErrorThatCannotBeWrittenKeepsTheExitCode) {
  const TestDirectory directory;
  EXPECT_EQ(run(directory, "check nowhere.json 2>/dev/full"), 2);
  EXPECT_EQ(run(directory, "check nowhere.json 2>&-"), 2);
}

TEST(CliFaults, WhatIsNoRegularFileIsWrittenAndNotReplaced) {
  const TestDirectory directory;
  directory.write("a.json", rows_of(kRow));
  directory.write("target.json", "old");
  std::filesystem::create_symlink("target.json", directory.path() + "/link.json");
  ASSERT_EQ(run(directory, "check a.json a.json --json link.json >out.txt"), 0);
  EXPECT_TRUE(std::filesystem::is_symlink(directory.path() + "/link.json"));
  EXPECT_THAT(directory.read("target.json"), HasSubstr("plimsoll_check"));
  const std::string pipe = directory.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(run(directory, "check a.json a.json --json pipe >out.txt"), 0);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  std::string text(65536, '\0');
  text.resize(
      static_cast<std::size_t>(std::max<ssize_t>(::read(reader, text.data(), text.size()), 0)));
  ::close(reader);
  EXPECT_THAT(text, HasSubstr("plimsoll_check"));
}

TEST(CliFaults, WhatIsOddAboutABenchmarkIsANote) {
  const TestDirectory directory;
  directory.write("a.json", rows_of(std::string(kRow) + "," + kRow));
  run(directory, "check a.json a.json >out.txt 2>&1");
  EXPECT_THAT(directory.read("out.txt"), HasSubstr("comes twice"));
}

TEST(CliFaults, FilesOfTwoMachinesAreSaidToBe) {
  const TestDirectory directory;
  const std::string rest = fmt::format(R"("benchmarks": [{}]}})", kRow);
  directory.write("a.json", R"({"context": {"host_name": "a", "num_cpus": 2}, )" + rest);
  directory.write("b.json", R"({"context": {"host_name": "b", "num_cpus": 64}, )" + rest);
  EXPECT_EQ(run(directory, "check a.json b.json >out.txt 2>&1"), 0);
  EXPECT_THAT(directory.read("out.txt"), HasSubstr("a (2 CPUs) and b (64 CPUs)"));
  EXPECT_EQ(run(directory, "check a.json a.json >out.txt 2>&1"), 0);
  EXPECT_THAT(directory.read("out.txt"), Not(HasSubstr("machines")));
  // Ours carry a machine class, which is judged; of one plain file and one of ours nothing is said.
  directory.write("ours.json", R"({"context": {"plimsoll": {"schema": 1, "group": "g",
    "metrics": {}}}, )" + rest);
  run(directory, "check a.json ours.json >out.txt 2>&1");
  EXPECT_THAT(directory.read("out.txt"), Not(HasSubstr("two machines")));
}

TEST(CliFaults, AFolderWithoutBaselinesIsNoTreeOfThem) {
  const TestDirectory directory;
  directory.write("a.json", rows_of(kRow));
  std::filesystem::create_directories(directory.path() + "/tree/class/short");
  EXPECT_EQ(run(directory, "check a.json --baseline tree 2>err.txt"), 2);
  EXPECT_THAT(directory.read("err.txt"), HasSubstr("tree: no tree of baselines"));
  directory.write("tree/class/short/g.json", "{}");
  // One level too deep.
  EXPECT_EQ(run(directory, "check a.json --baseline tree/class 2>err.txt"), 2);
  EXPECT_THAT(directory.read("err.txt"), HasSubstr("tree/class: no tree of baselines"));
}

TEST(CliFaults, AnEffectWithoutABoundIsRefused) {
  const TestDirectory directory;
  directory.write("a.json", rows_of(kRow));
  EXPECT_EQ(run(directory, "check a.json a.json --metric cpu_time=lower:inf 2>err.txt"), 2);
  EXPECT_THAT(directory.read("err.txt"), HasSubstr("'inf' is no percentage"));
}

TEST(CliFaults, AWordThatAFlagDoesNotTakeIsAnsweredByTheNearest) {
  const TestDirectory directory;
  directory.write("a.json", rows_of(kRow));
  EXPECT_EQ(run(directory, "check a.json --ab nevr 2>err.txt"), 2);
  EXPECT_THAT(directory.read("err.txt"), HasSubstr("unknown value 'nevr'; nearest: never"));
  EXPECT_EQ(run(directory, "ab a b --size shrt 2>err.txt"), 2);
  EXPECT_THAT(directory.read("err.txt"), HasSubstr("unknown value 'shrt'; nearest: short"));
}

}  // namespace
}  // namespace plimsoll::compare
