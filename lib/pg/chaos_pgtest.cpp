// The connection behind a network that misbehaves: the chaos proxy stands before the real server.
#include <thread>

#include "fixtures/chaos_proxy/before_postgres.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/server_pgtest.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;
using fixtures::Direction;
namespace fault = fixtures::fault;

class ChaosTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (HasFatalFailure()) return;
    auto proxied = fixtures::proxy_before(schema_->dsn());
    ASSERT_TRUE(proxied) << proxied.error().message;
    proxy_ = std::move(proxied->proxy);
    through_ = Config(proxied->dsn);
  }
  void TearDown() override { loop_.run_for(1ms); }

  void add(fixtures::FaultKind kind, Direction direction = Direction::kBoth) {
    ASSERT_TRUE(proxy_->add({kind, direction}));
  }
  void run_script(std::vector<fixtures::Step> steps) {
    ASSERT_TRUE(proxy_->run({std::move(steps)}));
  }

  std::unique_ptr<fixtures::ChaosProxy> proxy_;
  Config through_;
};

TEST_F(ChaosTest, AStallBeyondTheTimeoutIsThatCallersAloneAndTheConnectionRecovers) {
  const auto connection = connect(through_);
  run_script({{0ms, {fault::Stall{}}, 600ms}});
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(connection->query("SELECT 1", {}, 100ms));
  works.push_back(connection->query("SELECT 2"));
  const auto results = run_all(std::move(works));
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Errc::kTimeout);
  ASSERT_TRUE(results[1]) << results[1].error().message;
  EXPECT_EQ(results[1]->integer(0, 0), 2);
  EXPECT_EQ(run(connection->query("SELECT 5"))->integer(0, 0), 5);
  EXPECT_TRUE(connection->is_idle());
}

TEST_F(ChaosTest, AResetReachesEveryCallInFlightAndNothingHangs) {
  const auto connection = connect(through_);
  run_script({{150ms, {fault::ResetPeer{0}}, 150ms}});
  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < 20; ++i) works.push_back(connection->query("SELECT pg_sleep(600)"));
  for (const auto& result : run_all(std::move(works))) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kUnavailable) << result.error().message;
  }
  EXPECT_FALSE(connection->is_open());
  // The network is well again, and so is a new connection.
  EXPECT_EQ(run(connect(through_)->query("SELECT 1"))->integer(0, 0), 1);
}

TEST_F(ChaosTest, AResetWithinAnAnswerGivesNobodyAPartOfIt) {
  const auto connection = connect(through_);
  add(fault::ResetPeer{20'000}, Direction::kToClient);
  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < 10; ++i) {
    works.push_back(connection->query("SELECT repeat('x', 5000), $1::int", params(i)));
  }
  const auto results = run_all(std::move(works));
  int whole = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) {
      EXPECT_EQ(results[i]->text(0, 0).size(), 5'000U);
      EXPECT_EQ(results[i]->integer(0, 1), static_cast<std::int64_t>(i));
      ++whole;
    } else {
      EXPECT_EQ(results[i].error().code, Errc::kUnavailable) << results[i].error().message;
    }
  }
  EXPECT_LE(whole, 3);
  EXPECT_FALSE(connection->is_open());
}

TEST_F(ChaosTest, AnEndThatTheServerNeverSentIsUnavailable) {
  const auto connection = connect(through_);
  run_script({{100ms, {fault::HalfClose{0}, Direction::kToClient}}});
  const auto result = run(connection->query("SELECT pg_sleep(600)"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kUnavailable) << result.error().message;
}

TEST_F(ChaosTest, ABlackHoleAtConnectIsATimeout) {
  add(fault::Timeout{});
  through_.connect_timeout = 200ms;
  const auto connection = run(Connection::connect(through_));
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, Errc::kTimeout) << connection.error().message;
}

TEST_F(ChaosTest, ARefusedConnectionIsUnavailable) {
  add(fault::Down{});
  const auto connection = run(Connection::connect(through_));
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, Errc::kUnavailable) << connection.error().message;
}

TEST_F(ChaosTest, SlicesOfOneByteChangeNoAnswer) {
  add(fault::Slicer{1, 0us});
  const auto connection = connect(through_);
  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < 100; ++i) {
    const std::string text(static_cast<std::size_t>(i) * 7, static_cast<char>('a' + i % 26));
    works.push_back(
        connection->query("SELECT $1::text, $2::int / ($2::int % 10)", params(text, i)));
  }
  const auto results = run_all(std::move(works));
  for (int i = 0; i < 100; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (i % 10 == 0) {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().sqlstate, "22012");
      continue;
    }
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->text(0, 0),
              std::string(static_cast<std::size_t>(i) * 7, static_cast<char>('a' + i % 26)));
    EXPECT_EQ(result->integer(0, 1), i / (i % 10));
  }
}

TEST_F(ChaosTest, GroupsShareOneRoundTripHoweverLongThatIs) {
  const auto connection = connect(through_);
  add(fault::Latency{150ms, 0ms});
  const auto begin = std::chrono::steady_clock::now();
  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < 50; ++i) works.push_back(connection->query("SELECT $1::int", params(i)));
  const auto results = run_all(std::move(works));
  const auto took = std::chrono::steady_clock::now() - begin;
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    EXPECT_EQ(results[i]->integer(0, 0), static_cast<std::int64_t>(i));
  }
  EXPECT_GE(took, 300ms);
  EXPECT_LT(took, 50 * 300ms);  // One by one it would be no less.
}

// While a cancel is on its way nothing new may be sent, however long it takes: the signal hits
// whatever is executed when it arrives.
TEST_F(ChaosTest, ACancelThatIsSlowToArriveHitsNoLaterCall) {
  const auto connection = connect(through_);
  ASSERT_TRUE(proxy_->add({fault::Latency{300ms, 0ms}, Direction::kToServer, 2}));
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(connection->query("SELECT pg_sleep(0.2)", {}, 50ms));
  works.push_back([](Connection* c) -> asio::awaitable<Result<Rows>> {
    asio::steady_timer timer(c->executor(), 100ms);
    co_await timer.async_wait(asio::use_awaitable);
    // Sent at once, it would be executing when the cancel comes.
    auto answered = co_await c->query("SELECT pg_sleep(0.4), 'mine'");
    co_return answered;
  }(connection.get()));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().code, Errc::kTimeout);
  ASSERT_TRUE(results[1]) << results[1].error().message;
  EXPECT_EQ(results[1]->text(0, 1), "mine");
}

}  // namespace
}  // namespace plimsoll::pg
