// A real server that is killed and comes back, under both kinds of connection.
#include "fixtures/redis/local.hpp"
#include "lib/redis/script.hpp"
#include "lib/redis/server_redistest.hpp"
#include "lib/redis/supervised_connection.hpp"

namespace plimsoll::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Restart : public LoopTest {
 protected:
  void SetUp() override {
    fixtures::LocalRedis::Options options;
    options.append_fsync_always = true;
    auto started = fixtures::LocalRedis::start(options);
    ASSERT_TRUE(started) << started.error().message;
    server_.emplace(std::move(*started));
  }
  std::unique_ptr<SupervisedConnection> supervised() {
    SupervisedConfig config;
    config.connection = Config(server_->url());
    config.first_pause = 1ms;
    config.longest_pause = 20ms;
    config.seed = 1;
    return std::make_unique<SupervisedConnection>(loop_.get_executor(), config);
  }
  std::optional<fixtures::LocalRedis> server_;
};

/// Counts a key up until an error comes; what was acknowledged by then.
asio::awaitable<Result<std::int64_t>> count_until_error(Channel* channel, std::string key) {
  std::int64_t acknowledged = 0;
  for (;;) {
    Command next("INCR", key);
    auto answer = co_await channel->command(std::move(next), 60s);
    if (!answer && answer.error().code == Errc::kUnavailable) co_return acknowledged;
    if (!answer) co_return fail(answer.error());
    acknowledged = *answer->integer();
  }
}

asio::awaitable<Result<std::int64_t>> kill_after(fixtures::LocalRedis* server,
                                                 std::chrono::milliseconds after) {
  asio::steady_timer pause(co_await asio::this_coro::executor, after);
  co_await pause.async_wait(kAsValue);
  if (auto killed = server->kill9(); !killed) co_return fail(killed.error());
  co_return std::int64_t{0};
}

TEST_F(Restart, AKilledServerFailsEveryCallerAndKeepsWhatItAcknowledged) {
  const auto connection = connect(Config(server_->url()));
  std::vector<asio::awaitable<Result<std::int64_t>>> works;
  for (int i = 0; i < 16; ++i) {
    works.push_back(count_until_error(connection.get(), "n" + std::to_string(i)));
  }
  works.push_back(kill_after(&*server_, 150ms));
  const auto acknowledged = run_all(std::move(works));
  EXPECT_FALSE(connection->is_open());
  ASSERT_TRUE(server_->restart());
  Plain plain(server_->url());
  for (int i = 0; i < 16; ++i) {
    const auto& count = acknowledged[static_cast<std::size_t>(i)];
    ASSERT_TRUE(count) << count.error().message;
    const auto text = plain.text({"GET", "n" + std::to_string(i)});
    const auto kept = text.empty() ? 0 : std::stoll(text);
    // One more than acknowledged may be there: that call was indeterminate. Never more, never less.
    EXPECT_GE(kept, *count);
    EXPECT_LE(kept, *count + 1);
  }
}

TEST_F(Restart, ASupervisedConnectionComesBackByItself) {
  const auto connection = supervised();
  ASSERT_TRUE(run(connection->command(Command("SET", "k", "v"))));
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(server_->kill9());
    const auto broken = run(connection->command(Command("INCR", "n"), 5s));
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, Errc::kUnavailable) << broken.error().message;
    const auto waiting = run(connection->command(Command("INCR", "n"), 50ms));
    ASSERT_FALSE(waiting);
    EXPECT_THAT(waiting.error().message, HasSubstr("not sent"));
    ASSERT_TRUE(server_->restart());
    const auto again = run(connection->command(Command("GET", "k"), 60s));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->text(), "v");
  }
  EXPECT_EQ(connection->connections(), 4U);
  EXPECT_EQ(Plain(server_->url()).text({"EXISTS", "n"}), "0");  // Nothing was sent a second time.
}

TEST_F(Restart, CallsThatWaitAreServedWhenTheServerIsBack) {
  const auto connection = supervised();
  ASSERT_TRUE(run(connection->command(Command("SET", "k", "v"))));
  ASSERT_TRUE(server_->kill9());
  (void)run(connection->command(Command("PING"), 5s));
  std::vector<asio::awaitable<Result<Reply>>> works;
  for (int i = 0; i < 10; ++i) works.push_back(connection->command(Command("GET", "k"), 60s));
  works.push_back([](fixtures::LocalRedis* server) -> asio::awaitable<Result<Reply>> {
    asio::steady_timer pause(co_await asio::this_coro::executor, 100ms);
    co_await pause.async_wait(kAsValue);
    if (auto back = server->restart(); !back) co_return fail(back.error());
    co_return Reply{};
  }(&*server_));
  for (const auto& answer : run_all(std::move(works))) {
    EXPECT_TRUE(answer) << answer.error().message;
  }
}

TEST_F(Restart, AScriptRunsOnAServerThatForgotIt) {
  const auto connection = supervised();
  const Script count("return redis.call('INCR', KEYS[1])");
  ASSERT_TRUE(run(count.run(*connection, {"n"}, {})));
  ASSERT_TRUE(server_->kill9());
  ASSERT_TRUE(server_->restart());
  auto answer = run(count.run(*connection, {"n"}, {}));
  if (!answer) answer = run(count.run(*connection, {"n"}, {}));  // The first one found the break.
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer->integer(), 2);
}

TEST_F(Restart, AServerRestartedWhileIdleCostsASupervisedCallNothing) {
  const auto connection = supervised();
  ASSERT_TRUE(run(connection->command(Command("SET", "k", "v"))));
  ASSERT_TRUE(server_->restart());
  std::this_thread::sleep_for(1100ms);  // From a second on, an idle connection is looked at first.
  const auto answer = run(connection->command(Command("GET", "k")));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->text(), "v");
}

}  // namespace
}  // namespace plimsoll::redis
