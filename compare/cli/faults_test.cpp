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

}  // namespace
}  // namespace plimsoll::compare
