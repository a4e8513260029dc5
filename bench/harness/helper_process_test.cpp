#include "bench/harness/helper_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <utility>

namespace plimsoll::bench {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience{30'000};

HelperProcess::Plan shell(const std::string& script) {
  return {.program = "/bin/sh", .arguments = {"-c", script}, .stays_open = true, .answers = true};
}

TEST(HelperProcess, TakesItsInputAndAnswers) {
  auto plan = shell("read a; read b; echo $b; echo $a");
  plan.input = "one\ntwo\n";
  auto helper = HelperProcess::start(plan);
  ASSERT_TRUE(helper) << helper.error().message;
  EXPECT_EQ(helper->line(kPatience).value(), "two");
  EXPECT_EQ(helper->line(kPatience).value(), "one");
  EXPECT_EQ(helper->wait(), 0);
}

TEST(HelperProcess, TheEndOfInputIsSeen) {
  auto helper = HelperProcess::start(shell("cat; echo end"));
  ASSERT_TRUE(helper) << helper.error().message;
  EXPECT_EQ(helper->line(milliseconds{20}).error().code, Errc::kTimeout);
  helper->end_input();
  EXPECT_EQ(helper->line(kPatience).value(), "end");
}

TEST(HelperProcess, ThatDiesWithoutReadingIsAnErrorAndNoSignal) {
  auto plan = shell("exec 0<&-; exec sleep 60");
  // More than any buffer holds: refused, where waiting for the reader would hang.
  plan.input = std::string(std::size_t{64} << 20U, 'x');
  const auto flooded = HelperProcess::start(plan);
  ASSERT_FALSE(flooded);
  EXPECT_EQ(flooded.error().code, Errc::kInternal);
}

TEST(HelperProcess, AMissingProgramIsNamed) {
  const auto helper = HelperProcess::start({.program = program_beside_us("plimsoll-nowhere")});
  ASSERT_FALSE(helper);
  EXPECT_EQ(helper.error().code, Errc::kUnavailable);
  EXPECT_NE(helper.error().message.find("build the target plimsoll-nowhere"), std::string::npos);
}

TEST(HelperProcess, KilledWithWhatItStarted) {
  auto helper = HelperProcess::start(shell("sleep 600 & echo started; wait"));
  ASSERT_TRUE(helper) << helper.error().message;
  ASSERT_EQ(helper->line(kPatience).value(), "started");
  helper->kill();
  // The other end of its output closes with the last who holds it.
  EXPECT_EQ(helper->line(kPatience).error().code, Errc::kInternal);
}

TEST(HelperProcess, HasAProcessGroupOfItsOwn) {
  auto helper = HelperProcess::start(shell("echo $$; cut -d' ' -f5 /proc/$$/stat"));
  ASSERT_TRUE(helper) << helper.error().message;
  const std::string pid = helper->line(kPatience).value();
  EXPECT_EQ(helper->line(kPatience).value(), pid);
}

TEST(HelperProcess, EndedSaysHow) {
  auto helper = HelperProcess::start(shell("read a; exit 3"));
  ASSERT_TRUE(helper) << helper.error().message;
  EXPECT_FALSE(helper->ended());
  helper->end_input();
  std::optional<int> status;
  while (!status) status = helper->ended();
  ASSERT_TRUE(WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), 3);
  helper->kill();  // Of one that has ended: nothing.
}

TEST(HelperProcess, IsGoneWithItsObject) {
  std::string pid;
  {
    auto helper = HelperProcess::start(shell("echo $$; exec sleep 600"));
    ASSERT_TRUE(helper) << helper.error().message;
    pid = helper->line(kPatience).value();
    auto other = HelperProcess::start(shell("exec sleep 600"));
    ASSERT_TRUE(other) << other.error().message;
    // The one that is assigned over ends with the object that it was moved to.
    *helper = std::move(*other);
    EXPECT_FALSE(helper->ended());
  }
  EXPECT_FALSE(std::ifstream("/proc/" + pid + "/stat").good());
}

}  // namespace
}  // namespace plimsoll::bench
