#include "fixtures/redis/local.hpp"
#include "lib/redis/server_redistest.hpp"

namespace plimsoll::redis {
namespace {

using ::testing::HasSubstr;

class PipelineTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (!HasFatalFailure()) connection_ = connect();
  }
  std::unique_ptr<Connection> connection_;
};

TEST_F(PipelineTest, ManyCallersEachGetTheirOwnAnswer) {
  std::vector<asio::awaitable<Result<Reply>>> works;
  for (int i = 0; i < 5000; ++i) works.push_back(connection_->command(Command("ECHO", i)));
  const auto answers = run_all(std::move(works));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i]) << answers[i].error().message;
    ASSERT_EQ(answers[i]->text(), std::to_string(i));
  }
}

asio::awaitable<Result<std::int64_t>> count_up(Connection* connection, std::string key, int times) {
  std::int64_t last = 0;
  for (int i = 0; i < times; ++i) {
    Command next("INCR", key);
    auto answer = co_await connection->command(std::move(next));
    if (!answer) co_return fail(answer.error());
    const auto value = answer->integer();
    if (!value || *value <= last) co_return fail(Errc::kCorrupt, "went backwards");
    last = *value;
  }
  co_return last;
}

TEST_F(PipelineTest, CallersThatAskOneAfterTheOtherShareTheConnection) {
  std::vector<asio::awaitable<Result<std::int64_t>>> works;
  for (int i = 0; i < 50; ++i) works.push_back(count_up(connection_.get(), key("n"), 200));
  for (const auto& last : run_all(std::move(works))) {
    ASSERT_TRUE(last) << last.error().message;
  }
  EXPECT_EQ(plain().text({"GET", key("n")}), "10000");
}

TEST_F(PipelineTest, CallsOfOneTurnLeaveInOneWrite) {
  const auto local = fixtures::LocalRedis::start();  // Nobody else uses it.
  ASSERT_TRUE(local) << local.error().message;
  const auto connection = connect(Config(local->url()));
  Plain beside(local->url());
  // Redis counts how often it read from its clients.
  const auto reads = [&beside] {
    const auto stats = beside.text({"INFO", "stats"});
    const auto at = stats.find("total_reads_processed:");
    return at == std::string::npos ? -1 : std::stoll(stats.substr(at + 22));
  };
  const auto before = reads();
  std::vector<asio::awaitable<Result<Reply>>> works;
  for (int i = 0; i < 500; ++i) works.push_back(connection->command(Command("PING")));
  (void)run_all(std::move(works));
  // 7,000 bytes in one write, which Redis reads at once; one read more is the counting's own.
  EXPECT_LE(reads() - before, 3);
}

TEST_F(PipelineTest, AnswersAreInTheOrderOfTheCommands) {
  std::vector<Command> commands;
  for (int i = 0; i < 300; ++i) commands.emplace_back("ECHO", i);
  const auto answers = run(connection_->pipeline(std::move(commands)));
  ASSERT_EQ(answers.size(), 300U);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i]->text(), std::to_string(i));
  }
}

TEST_F(PipelineTest, OneErrorAmongThemChangesNothingForTheOthers) {
  std::vector<Command> commands;
  commands.emplace_back("SET", key("s"), "v");
  commands.emplace_back("LPUSH", key("s"), "x");
  commands.emplace_back("GET", key("s"));
  const auto answers = run(connection_->pipeline(std::move(commands)));
  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(answers[1].error().code, Errc::kRejected);
  EXPECT_EQ(answers[2]->text(), "v");
}

TEST_F(PipelineTest, WithMultiItIsAllOrNothing) {
  std::vector<Command> commands;
  commands.emplace_back("MULTI");
  commands.emplace_back("SET", key("a"), "1");
  commands.emplace_back("LPUSH", key("a"), "x");
  commands.emplace_back("EXEC");
  auto answers = run(connection_->pipeline(std::move(commands)));
  ASSERT_TRUE(answers[3]) << answers[3].error().message;
  ASSERT_EQ(answers[3]->elements().size(), 2U);
  EXPECT_TRUE(answers[3]->elements()[0].is_status("OK"));
  EXPECT_EQ(answers[3]->elements()[1].error().code, Errc::kRejected);  // An error as a value.

  std::vector<Command> wrong;
  wrong.emplace_back("MULTI");
  wrong.emplace_back("SET", key("b"), "1");
  wrong.emplace_back("NOSUCH");
  wrong.emplace_back("EXEC");
  answers = run(connection_->pipeline(std::move(wrong)));
  EXPECT_THAT(answers[3].error().message, HasSubstr("EXECABORT"));
  EXPECT_EQ(plain().text({"EXISTS", key("b")}), "0");
}

TEST_F(PipelineTest, OfNoCommandsHasNoAnswers) {
  EXPECT_TRUE(run(connection_->pipeline({})).empty());
  EXPECT_EQ(connection_->counters(), Counters{});
}

TEST_F(PipelineTest, WithOneCommandThatMustNotBeSentNothingIsSent) {
  std::vector<Command> commands;
  commands.emplace_back("SET", key("c"), "v");
  commands.emplace_back("MONITOR");
  const auto answers = run(connection_->pipeline(std::move(commands)));
  ASSERT_EQ(answers.size(), 2U);
  for (const auto& answer : answers) EXPECT_EQ(answer.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(plain().text({"EXISTS", key("c")}), "0");
}

TEST_F(PipelineTest, ManyLargeOnesDoNotBlockEachOther) {
  // Both directions are full: whoever only writes until it is done never gets there.
  const std::string value(1UL << 20, 'x');
  ASSERT_TRUE(run(connection_->command(Command("SET", key("large"), value))));
  std::vector<Command> commands;
  for (int i = 0; i < 64; ++i) {
    commands.emplace_back("ECHO", value);
    commands.emplace_back("GET", key("large"));
  }
  const auto answers = run(connection_->pipeline(std::move(commands)));
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->text().size(), value.size());
  }
}

}  // namespace
}  // namespace plimsoll::redis
