// A supervised connection over servers that break, played by a fake one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/redis/fake_server_test.hpp"
#include "lib/redis/supervised_connection.hpp"

namespace plimsoll::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

int seen = 0;  // Commands that reached the fake server after log-in.

/// Dies at its first command, but for every third client, who is served.
asio::awaitable<void> serve_every_third(Peer& peer, int n) {
  co_await peer.let_in();
  auto words = co_await peer.command();
  while (!words.empty()) {
    ++seen;
    if (n % 3 != 2) {
      peer.reset();
      co_return;
    }
    co_await peer.say("+served\r\n");
    words = co_await peer.command();
  }
}

asio::awaitable<void> hang_up_at_once(Peer& peer, int n) {
  if (n < 3) {
    peer.close();
    co_return;
  }
  co_await serve_every_third(peer, 2);
}

asio::awaitable<void> refuse(Peer& peer, int /*n*/) {
  auto words = co_await peer.command();
  co_await peer.say("-WRONGPASS no\r\n-NOAUTH no\r\n-NOAUTH no\r\n");
  words = co_await peer.command();
}

asio::awaitable<void> keep_silent(Peer& peer, int /*n*/) {
  auto words = co_await peer.command();
  while (!words.empty()) words = co_await peer.command();
}

class Supervised : public LoopTest {
 protected:
  void SetUp() override { seen = 0; }
  std::unique_ptr<SupervisedConnection> over(const std::string& url) {
    SupervisedConfig config;
    config.connection = Config(url);
    config.first_pause = 1ms;
    config.longest_pause = 5ms;
    config.seed = 1;
    return std::make_unique<SupervisedConnection>(loop_.get_executor(), config);
  }
};

TEST_F(Supervised, ConnectsWhenItIsFirstNeeded) {
  const FakeServer server(loop_, serve_every_third);
  const auto connection = over(server.url());
  EXPECT_FALSE(connection->is_connected());
  EXPECT_EQ(connection->connections(), 0U);
  EXPECT_FALSE(run(connection->command(Command("GET", "k"))));
  EXPECT_EQ(connection->connections(), 1U);
}

TEST_F(Supervised, ABreakFailsWhatWasPendingAndTheNextCallReconnects) {
  const FakeServer server(loop_, serve_every_third);
  const auto connection = over(server.url());
  for (int round = 0; round < 2; ++round) {
    const auto broken = run(connection->command(Command("GET", "k")));
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, Errc::kUnavailable);
    EXPECT_THAT(broken.error().message, HasSubstr("indeterminate"));
  }
  const auto served = run(connection->command(Command("GET", "k")));
  ASSERT_TRUE(served) << served.error().message;
  EXPECT_EQ(served->text(), "served");
  EXPECT_EQ(seen, 3);  // Nothing was sent twice.
  EXPECT_EQ(connection->connections(), 3U);
  EXPECT_EQ(connection->counters().commands, 1U);
  EXPECT_EQ(connection->counters().round_trips, 3U);
}

TEST_F(Supervised, CallsWaitForOneNewConnectionTogether) {
  const FakeServer server(loop_, hang_up_at_once);
  const auto connection = over(server.url());
  std::vector<asio::awaitable<Result<Reply>>> works;
  for (int i = 0; i < 20; ++i) works.push_back(connection->command(Command("GET", i)));
  for (const auto& answer : run_all(std::move(works))) {
    ASSERT_TRUE(answer) << answer.error().message;
  }
  EXPECT_EQ(connection->connections(), 1U);
  EXPECT_EQ(seen, 20);
}

TEST_F(Supervised, PipelinesWaitToo) {
  const FakeServer server(loop_, hang_up_at_once);
  const auto connection = over(server.url());
  const auto answers = run(connection->pipeline(std::vector<Command>(3, Command("GET", "k"))));
  ASSERT_EQ(answers.size(), 3U);
  for (const auto& answer : answers) EXPECT_TRUE(answer);
}

TEST_F(Supervised, ACallWaitsNoLongerThanItsOwnLimit) {
  FakeServer gone(loop_, keep_silent);
  gone.stop();
  const auto connection = over(gone.url());
  const auto late = run(connection->command(Command("GET", "k"), 50ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kUnavailable);
  EXPECT_THAT(late.error().message, HasSubstr("refused"));
  EXPECT_THAT(late.error().message, HasSubstr("not sent"));
  const auto answers = run(connection->pipeline({Command("GET"), Command("GET")}, 50ms));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[1].error().code, Errc::kUnavailable);
}

TEST_F(Supervised, AWrongPasswordIsSaidAtOnce) {
  const FakeServer server(loop_, refuse);
  const auto connection = over(server.url(":hidden@"));
  const auto refused = run(connection->command(Command("GET", "k"), 60s));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kRefused);
  EXPECT_THAT(refused.error().message, ::testing::Not(HasSubstr("hidden")));
}

TEST_F(Supervised, ACallerThatGivesUpLeavesTheOthersWaiting) {
  const FakeServer server(loop_, hang_up_at_once);
  const auto connection = over(server.url());
  std::vector<asio::awaitable<Result<Reply>>> works;
  works.push_back([](SupervisedConnection* c) -> asio::awaitable<Result<Reply>> {
    auto call = c->command(Command("GET", "k"));
    auto raced = co_await with_timeout(std::move(call), std::chrono::nanoseconds(1));
    if (!raced) co_return fail(Errc::kTimeout, "as expected");
    co_return std::move(*raced);
  }(connection.get()));
  works.push_back(connection->command(Command("GET", "k")));
  const auto answers = run_all(std::move(works));
  EXPECT_EQ(answers[0].error().message, "as expected");
  EXPECT_TRUE(answers[1]) << answers[1].error().message;
  EXPECT_EQ(seen, 1);
}

TEST_F(Supervised, ClosingFailsWhoWaits) {
  const FakeServer silent(loop_, keep_silent);
  auto connection = over(silent.url());
  std::vector<asio::awaitable<Result<Reply>>> works;
  works.push_back(connection->command(Command("GET", "k")));
  works.push_back([](std::unique_ptr<SupervisedConnection>* c) -> asio::awaitable<Result<Reply>> {
    asio::steady_timer pause((co_await asio::this_coro::executor), 20ms);
    co_await pause.async_wait(kAsValue);
    c->reset();
    co_return Reply{};
  }(&connection));
  const auto answers = run_all(std::move(works));
  EXPECT_EQ(answers[0].error().code, Errc::kUnavailable);
  EXPECT_THAT(answers[0].error().message, HasSubstr("closed by its owner"));
}

TEST_F(Supervised, ALoopMayEndWhileItConnects) {
  const FakeServer silent(loop_, keep_silent);
  asio::io_context loop{1};
  SupervisedConfig config;
  config.connection = Config(silent.url());
  {
    SupervisedConnection connection(loop.get_executor(), config);
    asio::co_spawn(loop, connection.command(Command("GET", "k")),
                   [](const std::exception_ptr&, const Result<Reply>&) {});
    loop.run_for(20ms);
  }
}

}  // namespace
}  // namespace plimsoll::redis
