#include "lib/core/rng.hpp"
#include "lib/redis/server_redistest.hpp"

namespace plimsoll::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class CancelTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (!HasFatalFailure()) connection_ = connect();
  }
  /// Holds up what is behind it on its connection, and nobody else.
  Command block(const char* seconds) const { return Command("BLPOP", key("none"), seconds); }

  std::unique_ptr<Connection> connection_;
};

TEST_F(CancelTest, ATimeoutReachesItsCallerAndTheConnectionGoesOn) {
  const auto late = run(connection_->command(block("0.3"), 20ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kTimeout);
  EXPECT_THAT(late.error().message, HasSubstr("20.0 ms"));
  EXPECT_THAT(late.error().message, HasSubstr("indeterminate"));
  EXPECT_FALSE(late.error().poisons_connection());
  EXPECT_EQ(run(connection_->command(Command("ECHO", "5")))->text(), "5");
}

TEST_F(CancelTest, TheLimitOfTheConnectionIsTheDefault) {
  Config quick = config();
  quick.call_timeout = 20ms;
  const auto connection = connect(quick);
  EXPECT_EQ(run(connection->command(block("0.3"))).error().code, Errc::kTimeout);
  EXPECT_TRUE(run(connection->command(Command("PING"), 60s)));
}

TEST_F(CancelTest, NeighboursOfATimeoutGetTheirOwnAnswers) {
  std::vector<asio::awaitable<Result<Reply>>> works;
  works.push_back(connection_->command(Command("ECHO", 0)));
  works.push_back(connection_->command(block("0.3"), 20ms));
  for (int i = 2; i < 50; ++i) works.push_back(connection_->command(Command("ECHO", i)));
  const auto answers = run_all(std::move(works));
  EXPECT_EQ(answers[1].error().code, Errc::kTimeout);
  for (std::size_t i = 2; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i]) << answers[i].error().message;
    EXPECT_EQ(answers[i]->text(), std::to_string(i));
  }
}

TEST_F(CancelTest, ASlowScriptHoldsUpButHarmsNobody) {
  if (!server_.may_disturb) GTEST_SKIP() << "the server is not ours to hold up";
  const Command slow("EVAL",
                     "local t = redis.call('TIME') local n = t repeat n = redis.call('TIME') until "
                     "(n[1] - t[1]) * 1000000 + (n[2] - t[2]) > 200000 return 'slow'",
                     0);
  std::vector<asio::awaitable<Result<Reply>>> works;
  works.push_back(connection_->command(slow, 20ms));
  works.push_back(connection_->command(Command("ECHO", "behind")));
  const auto answers = run_all(std::move(works));
  EXPECT_EQ(answers[0].error().code, Errc::kTimeout);
  EXPECT_EQ(answers[1]->text(), "behind");
}

TEST_F(CancelTest, ACallThatWasNeverSentIsNeverExecuted) {
  Config narrow = config();
  narrow.max_in_flight = 1;
  const auto connection = connect(narrow);
  std::vector<asio::awaitable<Result<Reply>>> works;
  works.push_back(connection->command(block("0.3")));
  works.push_back(connection->command(Command("SET", key("k"), "v"), 20ms));
  const auto answers = run_all(std::move(works));
  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(answers[1].error().code, Errc::kTimeout);
  EXPECT_THAT(answers[1].error().message, HasSubstr("was not sent"));
  EXPECT_TRUE(run(connection->command(Command("PING"))));
  EXPECT_EQ(plain().text({"EXISTS", key("k")}), "0");
}

TEST_F(CancelTest, ATimedOutPipelineKeepsWhatItHasHeard) {
  std::vector<Command> commands;
  commands.emplace_back("ECHO", "heard");
  commands.push_back(block("0.5"));
  commands.emplace_back("ECHO", "late");
  const auto answers = run(connection_->pipeline(std::move(commands), 100ms));
  ASSERT_EQ(answers.size(), 3U);
  // Where the machine is so busy that not even the first answer came in time, that is said too.
  if (answers[0]) {
    EXPECT_EQ(answers[0]->text(), "heard");
  }
  EXPECT_EQ(answers[1].error().code, Errc::kTimeout);
  EXPECT_EQ(answers[2].error().code, Errc::kTimeout);
  EXPECT_EQ(run(connection_->command(Command("ECHO", "next")))->text(), "next");
}

TEST_F(CancelTest, WithTimeoutAroundOneCallLeavesItsNeighboursAlone) {
  std::vector<asio::awaitable<Result<Reply>>> works;
  works.push_back([](Connection* c, Command command) -> asio::awaitable<Result<Reply>> {
    auto call = c->command(std::move(command));
    auto raced = co_await with_timeout(std::move(call), 20ms);
    if (!raced) co_return fail(Errc::kTimeout, "as expected");
    co_return std::move(*raced);
  }(connection_.get(), block("0.3")));
  for (int i = 1; i < 20; ++i) works.push_back(connection_->command(Command("ECHO", i)));
  const auto answers = run_all(std::move(works));
  EXPECT_EQ(answers[0].error().message, "as expected");
  for (std::size_t i = 1; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i]->text(), std::to_string(i));
  }
}

// Callers give up at random around the moment of the answer. Nobody may get another's answer.
TEST_F(CancelTest, AStormOfTimeoutsNeverShiftsAnAnswer) {
  Rng rng(4);
  std::vector<asio::awaitable<Result<Reply>>> works;
  constexpr int kCalls = 3000;
  for (int i = 0; i < kCalls; ++i) {
    if (i % 30 == 0) works.push_back(connection_->command(block("0.003"), 2ms));
    const bool is_hasty = rng.below(3) == 0;
    const auto limit = is_hasty ? std::chrono::milliseconds(rng.below(400)) : 60'000ms;
    works.push_back(connection_->command(Command("ECHO", i), limit));
  }
  const auto answers = run_all(std::move(works));
  int number = 0;
  int answered = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (i % 31 == 0) continue;  // One that blocked.
    const auto& answer = answers[i];
    if (answer) {
      ASSERT_EQ(answer->text(), std::to_string(number));
      ++answered;
    } else {
      ASSERT_EQ(answer.error().code, Errc::kTimeout) << answer.error().message;
    }
    ++number;
  }
  EXPECT_EQ(number, kCalls);
  EXPECT_GE(answered, kCalls / 2);
  EXPECT_TRUE(run(connection_->command(Command("PING"))));
  EXPECT_TRUE(connection_->is_idle());
}

}  // namespace
}  // namespace plimsoll::redis
