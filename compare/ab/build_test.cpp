#include "compare/ab/build.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "compare/ab/ab.hpp"
#include "compare/ab/command.hpp"

namespace plimsoll::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A repository with the shape of ours, whose binaries are copies of the fake: what is built is the
/// default of FAKE_NS.
class Revisions : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", (scratch_->path() / "cache").c_str(), 1);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    std::filesystem::create_directories(repository() / "bench/fake");
    std::filesystem::create_directories(repository() / "bench/harness");
    git({"init", "--quiet"});
    write("CMakePresets.json",
          R"({"version": 6, "configurePresets": [{"name": "bench", "generator": "Ninja",
          "binaryDir": "${sourceDir}/build/bench"}], "buildPresets": [{"name": "bench", "configurePreset": "bench"}]})");
    write("CMakeLists.txt",
          "cmake_minimum_required(VERSION 3.25)\nproject(P LANGUAGES "
          "NONE)\nadd_subdirectory(bench/fake)\n");
    write("bench/harness/CMakeLists.txt", "");
    write("bench/fake/CMakeLists.txt",
          "file(REMOVE ${CMAKE_BINARY_DIR}/bin/bench_fake)\n"
          "add_custom_target(bench_fake COMMAND ${CMAKE_COMMAND} -E echo built >> "
          "${CMAKE_SOURCE_DIR}/../built\n"
          "  COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/fake.sh "
          "${CMAKE_BINARY_DIR}/bin/bench_fake)\n");
    first_ = commit_fake("1000");
    second_ = commit_fake("1300");
    write("bench/fake/CMakeLists.txt", "message(FATAL_ERROR \"this commit is broken\")\n");
    broken_ = commit("broken");
  }

  std::filesystem::path repository() { return scratch_->path() / "repository"; }
  void write(const std::string& file, const std::string& text) {
    std::ofstream(repository() / file) << text;
  }
  std::string git(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"});
    const auto said = output_of(arguments, repository(), signals_);
    EXPECT_TRUE(said.has_value()) << said.error().message;
    return said ? said->substr(0, said->find('\n')) : "";
  }
  std::string commit(const std::string& what) {
    git({"add", "--all"});
    git({"commit", "--quiet", "--message", what});
    return git({"rev-parse", "HEAD"});
  }
  std::string commit_fake(const std::string& ns) {
    std::ostringstream text;
    text << std::ifstream(PLIMSOLL_AB_TESTDATA "/bench_fake").rdbuf();
    std::string script = text.str();
    script.replace(script.find("FAKE_NS-1000"), 12, "FAKE_NS-" + ns);
    write("bench/fake/fake.sh", script);
    std::filesystem::permissions(repository() / "bench/fake/fake.sh",
                                 std::filesystem::perms::owner_all);
    return commit(ns);
  }
  std::filesystem::path home(const std::string& commit) {
    return scratch_->path() / "cache/plimsoll/builds" / commit;
  }
  int times_built(const std::string& commit) {
    std::ifstream lines(home(commit) / "built");
    int count = 0;
    for (std::string line; std::getline(lines, line);) ++count;
    return count;
  }
  Result<std::filesystem::path> build(const std::string& commit,
                                      std::vector<std::string> groups = {"fake"}) {
    return build_revision({repository(), commit, std::move(groups)}, signals_, {});
  }

  HeldSignals signals_;
  Result<ScratchDirectory> scratch_ = ScratchDirectory::create();
  std::string first_;
  std::string second_;
  std::string broken_;
};

TEST_F(Revisions, AreBuiltOnceAndFoundAgain) {
  const auto tree = build(first_);
  ASSERT_TRUE(tree.has_value()) << tree.error().message;
  EXPECT_TRUE(std::filesystem::exists(*tree / "bin/bench_fake"));
  ASSERT_TRUE(build(first_).has_value());
  EXPECT_EQ(times_built(first_), 1);
}

TEST_F(Revisions, WhatWasLeftHalfBuiltIsNotUsed) {
  ASSERT_TRUE(build(first_).has_value());
  std::filesystem::remove(home(first_) /
                          "built-fake");  // As if the build had been killed before its end.
  ASSERT_TRUE(build(first_).has_value());
  EXPECT_EQ(times_built(first_), 2);
  std::filesystem::remove(home(first_) / "checked-out");
  std::filesystem::remove(home(first_) / "source/CMakeLists.txt");
  std::filesystem::remove(home(first_) / "built-fake");
  EXPECT_TRUE(build(first_).has_value());
}

TEST_F(Revisions, AFailedBuildQuotesItsOutput) {
  const auto failed = build(broken_);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Errc::kUnavailable);
  EXPECT_THAT(failed.error().message, HasSubstr("cmake --preset bench"));
  EXPECT_THAT(failed.error().message, HasSubstr("this commit is broken"));
  EXPECT_FALSE(build(broken_).has_value());
}

TEST_F(Revisions, AGroupThatTheCommitDoesNotHaveIsNotBuilt) {
  EXPECT_THAT(*groups_at(repository(), first_, signals_), ElementsAre("fake"));
  EXPECT_TRUE(build(first_, {"fake", "later"}).has_value());
}

TEST_F(Revisions, TwoBuildersOfOneCommitBuildItOnce) {
  const pid_t other = fork();
  if (other == 0) _exit(build(first_).has_value() ? 0 : 1);
  EXPECT_TRUE(build(first_).has_value());
  int status = 1;
  waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(times_built(first_), 1);
}

TEST_F(Revisions, ALockIsWaitedForAndPassedOn) {
  const auto file = scratch_->path() / "lock";
  auto first = FileLock::acquire(file, signals_, [] { ADD_FAILURE() << "nobody holds it"; });
  ASSERT_TRUE(first.has_value());
  std::atomic<bool> waited = false;
  std::atomic<bool> got = false;
  std::thread other(
      [&] { got = FileLock::acquire(file, signals_, [&] { waited = true; }).has_value(); });
  while (!waited) std::this_thread::yield();
  EXPECT_FALSE(got);
  first = fail(Errc::kCancelled, "");  // Lets go of it.
  other.join();
  EXPECT_TRUE(got);
}

TEST_F(Revisions, AreChosenAsTheBaseOfACheck) {
  const auto repo = repository();
  EXPECT_EQ(choose_base("", first_.substr(0, 8), "", repo)->side->commit, first_);
  EXPECT_EQ(choose_base("", "", second_, repo)->side->commit, second_);
  EXPECT_FALSE(
      choose_base("", "", "0123456789012345678901234567890123456789", repo)->side.has_value());
  EXPECT_THAT(choose_base("", "", "0123456789012345678901234567890123456789", repo)->reason,
              HasSubstr("not in this repository"));
  EXPECT_THAT(choose_base("", "", "", repo)->reason, HasSubstr("nothing can be re-run"));
  EXPECT_FALSE(choose_base("", "no-such", second_, repo).has_value());
  EXPECT_FALSE(choose_base(first_, "", "", repo).has_value()) << "a revision is no tree";
}

TEST_F(Revisions, AreMeasuredAgainstEachOther) {
  AbRequest request;
  request.repository = repository();
  request.base = *parse_side(first_, repository());
  request.fresh = *parse_side("HEAD~1", repository());
  EXPECT_EQ(request.fresh.commit, second_);
  request.filter = "^fake/two";
  request.repetition = std::chrono::milliseconds(5);
  request.policy.first_pairs = request.policy.final_pairs = 8;
  const auto outcome = run_ab(request);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  ASSERT_EQ(outcome->results.size(), 1U);
  EXPECT_EQ(outcome->results[0].verdict, AbVerdict::kRegressed);
  EXPECT_NEAR(outcome->results[0].ratio.value, 1.3, 0.03);
}

}  // namespace
}  // namespace plimsoll::compare
