#include "lib/redis/script.hpp"
#include "lib/redis/server_redistest.hpp"

namespace plimsoll::redis {
namespace {

class CountersTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (!HasFatalFailure()) connection_ = connect();
  }
  std::unique_ptr<Connection> connection_;
};

TEST_F(CountersTest, StartAtZeroBehindTheLogIn) { EXPECT_EQ(connection_->counters(), Counters{}); }

TEST_F(CountersTest, AreExactForEachKindOfCall) {
  ASSERT_TRUE(run(connection_->command(Command("ECHO", "abc"))));
  Counters expected{.commands = 1,
                    .errors = 0,
                    .round_trips = 1,
                    .bytes_sent = 23,      // *2, $4 ECHO, $3 abc, each with its line end.
                    .bytes_received = 9};  // $3 abc.
  EXPECT_EQ(connection_->counters(), expected);

  std::vector<Command> commands(3, Command("PING"));
  commands.emplace_back("NOSUCH");
  const auto answers = run(connection_->pipeline(std::move(commands)));
  expected += {.commands = 4,
               .errors = 1,
               .round_trips = 1,
               .bytes_sent = 3 * 14 + 16,
               .bytes_received = 3 * 7 + answers[3].error().message.size() + 3};
  EXPECT_EQ(connection_->counters(), expected);
}

TEST_F(CountersTest, AgreeWithTheServersOwn) {
  if (!server_.may_disturb) GTEST_SKIP() << "its counters are not ours to reset";
  const auto calls = [this] {
    const auto stats = plain().text({"INFO", "commandstats"});
    const auto at = stats.find("cmdstat_strlen:calls=");
    return at == std::string::npos ? 0ULL : std::stoull(stats.substr(at + 21));
  };
  const auto before = calls();
  std::vector<asio::awaitable<Result<Reply>>> works;
  for (int i = 0; i < 321; ++i) works.push_back(connection_->command(Command("STRLEN", key("k"))));
  (void)run_all(std::move(works));
  EXPECT_EQ(calls() - before, 321U);
  EXPECT_EQ(connection_->counters().commands, 321U);
  EXPECT_EQ(connection_->counters().round_trips, 321U);
}

TEST_F(CountersTest, CountACallThatTimedOutOnceTheServerIsDoneWithIt) {
  const auto late = run(
      connection_->command(Command("BLPOP", key("none"), "0.3"), std::chrono::milliseconds(20)));
  ASSERT_EQ(late.error().code, Errc::kTimeout);
  EXPECT_EQ(connection_->counters().commands, 0U);
  ASSERT_TRUE(run(connection_->command(Command("PING"))));
  EXPECT_EQ(connection_->counters().commands, 2U);
}

TEST_F(CountersTest, SeeAScriptsSecondTry) {
  const Script script("return 'counted " + key("x") + "'");
  ASSERT_TRUE(run(script.run(*connection_, {}, {})));
  EXPECT_EQ(connection_->counters().round_trips, 2U);
  ASSERT_TRUE(run(script.run(*connection_, {}, {})));
  EXPECT_EQ(connection_->counters().round_trips, 3U);
}

}  // namespace
}  // namespace plimsoll::redis
