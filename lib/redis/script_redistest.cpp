#include "lib/redis/script.hpp"

#include "lib/redis/server_redistest.hpp"

namespace plimsoll::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ScriptTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (HasFatalFailure()) return;
    connection_ = connect();
    // Its key makes the text new to the server.
    count_.emplace("return redis.call('INCRBY', KEYS[1], ARGV[1]) -- " + key("count"));
  }
  std::unique_ptr<Connection> connection_;
  std::optional<Script> count_;
};

TEST(Script, IsNamedByItsSha1) {
  EXPECT_EQ(Script("return 1").sha1(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  EXPECT_EQ(Script("").sha1(), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

TEST_F(ScriptTest, RunsOnceThoughTheServerDoesNotKnowIt) {
  const auto first = run(count_->run(*connection_, {key("n")}, {"5"}));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*first->integer(), 5);
  const auto second = run(count_->run(*connection_, {key("n")}, {"5"}));
  EXPECT_EQ(*second->integer(), 10);
  EXPECT_EQ(connection_->counters().errors, 1U);  // One NOSCRIPT.
}

TEST_F(ScriptTest, RunsOnAfterScriptFlush) {
  if (!server_.may_disturb) GTEST_SKIP() << "its scripts are not ours to flush";
  ASSERT_TRUE(run(count_->run(*connection_, {key("n")}, {"1"})));
  plain().text({"SCRIPT", "FLUSH"});
  const auto again = run(count_->run(*connection_, {key("n")}, {"1"}));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(plain().text({"GET", key("n")}), "2");
  EXPECT_EQ(plain().text({"EVAL", "return redis.call('GET', KEYS[1])", "1", key("n")}), "2");
}

TEST_F(ScriptTest, PassesAnyByte) {
  const Script echo("return ARGV[1] .. KEYS[1]");
  const std::string odd("\0\r\n'\"", 5);
  EXPECT_EQ(run(echo.run(*connection_, {key(odd)}, {odd}))->text(), odd + key(odd));
}

TEST_F(ScriptTest, AnErrorOfTheScriptIsItsCallersAndNoReasonToTryAgain) {
  const Script fails("redis.call('INCR', KEYS[1]) return redis.error_reply('NOSCRIPT made up')");
  const auto failed = run(fails.run(*connection_, {key("n")}, {}));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::kRejected);
  EXPECT_EQ(plain().text({"GET", key("n")}), "1");
  const Script broken("this is no Lua");
  EXPECT_EQ(run(broken.run(*connection_, {}, {})).error().code, Errc::kRejected);
}

TEST_F(ScriptTest, ATimeoutIsNeverTriedAgain) {
  ASSERT_TRUE(run(count_->run(*connection_, {key("n")}, {"0"})));  // Known to the server now.
  std::vector<asio::awaitable<Result<Reply>>> works;
  works.push_back(connection_->command(Command("BLPOP", key("none"), "0.3")));
  works.push_back(count_->run(*connection_, {key("n")}, {"1"}, 20ms));
  const auto answers = run_all(std::move(works));
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().code, Errc::kTimeout);
  EXPECT_THAT(answers[1].error().message, HasSubstr("indeterminate"));
  ASSERT_TRUE(run(connection_->command(Command("PING"))));
  EXPECT_EQ(plain().text({"GET", key("n")}), "1");  // Executed late, and once.
}

TEST_F(ScriptTest, MayGoWhileItRuns) {
  std::optional<Script> script(Script("return 'still here'"));
  auto running = script->run(*connection_, {}, {});
  script.reset();
  EXPECT_EQ(run(std::move(running))->text(), "still here");
}

}  // namespace
}  // namespace plimsoll::redis
