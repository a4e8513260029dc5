#include "compare/ab/process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "lib/core/clock.hpp"

namespace plimsoll::compare {
namespace {

using std::chrono::milliseconds;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

class Process : public ::testing::Test {
 protected:
  ProcessSpec shell(const std::string& script) {
    return {{"sh", "-c", script}, environment_with({}), {}, out(), scratch_->path() / "err", {}};
  }
  std::filesystem::path out() { return scratch_->path() / "out"; }

  /// The pid that the script wrote into `file`, waited for.
  pid_t pid_in(const std::filesystem::path& file) {
    for (int i = 0; i < 3000; ++i) {
      const std::string text = text_of(file);
      if (text.ends_with('\n')) return std::stoi(text);
      std::this_thread::sleep_for(milliseconds(10));
    }
    ADD_FAILURE() << "the child never started";
    return 0;
  }

  /// Whether it is gone (a zombie that nobody waits for is gone too), waited for.
  static bool vanishes(pid_t pid) {
    for (int i = 0; i < 1000; ++i) {
      const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
      if (stat.empty() || stat.find(") Z ") != std::string::npos) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }

  HeldSignals signals_;
  Result<ScratchDirectory> scratch_ = ScratchDirectory::create();
};

TEST_F(Process, ReportsHowItEnded) {
  EXPECT_TRUE(run_process(shell("exit 0"), signals_)->ok());
  EXPECT_EQ(run_process(shell("exit 3"), signals_)->describe(), "exit 3");
  EXPECT_EQ(run_process(shell("kill -9 $$"), signals_)->describe(), "signal 9 (Killed)");
}

TEST_F(Process, KeepsWhatItPrinted) {
  ASSERT_TRUE(run_process(shell("echo out; echo err >&2; echo; echo 'last  line' >&2"), signals_));
  EXPECT_EQ(text_of(out()), "out\n\n");
  EXPECT_EQ(tail_of(scratch_->path() / "err", 1), "last  line");
  EXPECT_EQ(tail_of(scratch_->path() / "err", 9), "err\nlast  line");
  EXPECT_EQ(tail_of(scratch_->path() / "none", 9), "");
}

TEST_F(Process, ArgumentsMeanNothingToAnyShell) {
  ProcessSpec spec = shell("");
  spec.argv = {"printf", "%s|", "a b", "$HOME", "*", "x;y", "'"};
  ASSERT_TRUE(run_process(spec, signals_));
  EXPECT_EQ(text_of(out()), "a b|$HOME|*|x;y|'|");
}

TEST_F(Process, ReadsNothingFromOurStdin) {
  ASSERT_TRUE(run_process(shell("wc -c"), signals_)->ok());
  EXPECT_EQ(text_of(out()), "0\n");
}

TEST_F(Process, SeesTheEnvironmentThatItWasGiven) {
  ProcessSpec spec = shell("echo \"$PLIMSOLL_TEST_WORD-${HOME-none}\"");
  spec.environment = environment_with({{"PLIMSOLL_TEST_WORD", "x y"}, {"HOME", ""}});
  ASSERT_TRUE(run_process(spec, signals_));
  EXPECT_EQ(text_of(out()), "x y-none\n");
}

TEST_F(Process, AnAbsentProgramIsNotFound) {
  ProcessSpec spec = shell("");
  spec.argv = {"/nonexistent/program"};
  const auto end = run_process(spec, signals_);
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().code, Errc::kNotFound);
  EXPECT_NE(end.error().message.find("/nonexistent/program"), std::string::npos);
}

TEST_F(Process, IsKilledAtItsLimitWithItsChildren) {
  ProcessSpec spec =
      shell("trap '' TERM; sleep 1000 & echo $! > " + out().string() + "2; wait; sleep 1000");
  spec.limit = milliseconds(500);
  const auto end = run_process(spec, signals_);
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->timed_out);
  EXPECT_FALSE(end->ok());
  EXPECT_TRUE(vanishes(pid_in(out().string() + "2")));
}

TEST_F(Process, MayCleanUpWhenToldToEnd) {
  ProcessSpec spec = shell("trap 'echo cleaned; exit 0' TERM; sleep 1000 & wait");
  spec.limit = milliseconds(500);
  EXPECT_TRUE(run_process(spec, signals_)->timed_out);
  EXPECT_EQ(text_of(out()), "cleaned\n");
}

TEST_F(Process, WhatItLeavesBehindIsEnded) {
  ASSERT_TRUE(run_process(shell("sleep 1000 & echo $! > " + out().string() + "2"), signals_)->ok());
  EXPECT_TRUE(vanishes(pid_in(out().string() + "2")));
}

TEST_F(Process, AnInterruptionEndsItAndIsReported) {
  std::thread interrupter([&, self = getpid()] {
    pid_in(out().string() + "2");
    kill(self, SIGINT);
  });
  const auto end =
      run_process(shell("sleep 1000 & echo $! > " + out().string() + "2; wait"), signals_);
  interrupter.join();
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().code, Errc::kCancelled);
  EXPECT_TRUE(signals_.interrupted());
  EXPECT_TRUE(vanishes(pid_in(out().string() + "2")));
  sigset_t interrupt;  // Taken back, or the end of `signals_` would end this test.
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  const timespec none{};
  EXPECT_EQ(sigtimedwait(&interrupt, nullptr, &none), SIGINT);
}

TEST_F(Process, DiesWithUsEvenWhenWeAreKilled) {
  const auto file = out().string() + "2";
  const pid_t owner = fork();
  if (owner == 0) {
    const HeldSignals signals;
    const auto end = run_process(shell("echo $$ > " + file + "; exec sleep 1000"), signals);
    _exit(end.has_value() ? 1 : 2);
  }
  const pid_t child = pid_in(file);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(vanishes(child));
}

TEST_F(Process, AScratchDirectoryLeavesNothing) {
  std::filesystem::path path;
  {
    auto scratch = ScratchDirectory::create();
    ASSERT_TRUE(scratch.has_value());
    path = scratch->path();
    std::ofstream(path / "file") << "x";
    const ScratchDirectory moved = std::move(*scratch);
    EXPECT_TRUE(std::filesystem::exists(path / "file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace plimsoll::compare
