// Cancelling through PgBouncer: a key of the pooler's own stands for a client, and server
// connections change hands. Nobody but the caller that gave up may ever be hit.
#include "fixtures/chaos_proxy/before_postgres.hpp"
#include "lib/pg/pooler_pgtest.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;
namespace fault = fixtures::fault;

asio::awaitable<Result<Rows>> after(Connection* connection, std::chrono::milliseconds pause,
                                    std::string sql) {
  asio::steady_timer timer(connection->executor(), pause);
  co_await timer.async_wait(asio::use_awaitable);
  auto answered = co_await connection->query(std::move(sql));
  co_return answered;
}

class PoolerCancelTest : public PoolerTest {
 protected:
  /// A pooler whose connections to the server pass through a chaos proxy.
  void start_behind_proxy(int size) {
    auto proxied = fixtures::proxy_before(server_.dsn);
    ASSERT_TRUE(proxied) << proxied.error().message;
    proxy_ = std::move(proxied->proxy);
    fixtures::LocalPgbouncer::Options options;
    options.server_dsn = proxied->dsn;
    options.default_pool_size = size;
    start_pooler(std::move(options));
  }
  /// From now on a new connection to the server, such as a cancel's, takes this long to be heard.
  void delay_new_connections(std::chrono::milliseconds delay) {
    ASSERT_TRUE(proxy_->add({fault::Latency{delay, 0ms}, fixtures::Direction::kToServer,
                             proxy_->totals().accepted + 1}));
  }

  std::unique_ptr<fixtures::ChaosProxy> proxy_;
};

TEST_F(PoolerCancelTest, ATimeoutCancelsTheStatementOnTheServer) {
  start_pooler(2);
  const auto connection = connect_pooled();
  const auto late = run(connection->query("SELECT pg_sleep(600), 'endless'", {}, 50ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kTimeout);
  EXPECT_TRUE(connection->is_idle());
  EXPECT_EQ(run(connection->query("SELECT 5"))->integer(0, 0), 5);
  EXPECT_TRUE(plain().becomes_true(
      "NOT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE "
      "'%''endless''%' AND pid <> pg_backend_pid())"));
}

TEST_F(PoolerCancelTest, NeighboursInFlightGetTheirOwnAnswers) {
  start_pooler(1);
  const auto connection = connect_pooled();
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(connection->query("SELECT 1"));
  works.push_back(connection->query("SELECT pg_sleep(600)", {}, 100ms));
  for (int i = 2; i < 40; ++i) works.push_back(connection->query("SELECT $1::int", params(i)));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[1].error().code, Errc::kTimeout);
  for (std::size_t i = 2; i < results.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    EXPECT_EQ(results[i]->integer(0, 0), static_cast<std::int64_t>(i));
  }
}

// Callers of one client give up at random; two other clients share its server connections.
TEST_F(PoolerCancelTest, AStormOfTimeoutsHitsNoNeighbourAndNoOtherClient) {
  start_pooler(2);
  plain().text("CREATE TABLE t (n int)");
  constexpr int kCalls = 300;
  std::vector<std::unique_ptr<Connection>> connections;
  for (int i = 0; i < 3; ++i) connections.push_back(connect_pooled());
  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < kCalls; ++i) {
    for (int client = 0; client < 3; ++client) {
      const bool is_hasty = client == 0 && i % 3 == 0;
      works.push_back(connections[static_cast<std::size_t>(client)]->query(
          Query("WITH w AS (INSERT INTO t VALUES ($1) RETURNING n) SELECT n, pg_sleep($2) FROM w",
                params(client * kCalls + i, is_hasty ? "0.004" : "0.001")),
          is_hasty ? Timeout(i * 2ms) : Timeout(100s)));
    }
  }
  const auto results = run_all(std::move(works));
  for (int i = 0; i < kCalls; ++i) {
    for (int client = 0; client < 3; ++client) {
      const auto& result = results[static_cast<std::size_t>(3 * i + client)];
      if (client == 0 && i % 3 == 0 && !result) {
        EXPECT_EQ(result.error().code, Errc::kTimeout) << result.error().message;
        continue;
      }
      ASSERT_TRUE(result) << client << "/" << i << ": " << result.error().message;
      EXPECT_EQ(result->integer(0, 0), client * kCalls + i);
    }
  }
  for (const auto& connection : connections) EXPECT_TRUE(connection->is_idle());
  EXPECT_EQ(plain().text("SELECT count(*) - count(DISTINCT n) FROM t"), "0");
}

TEST_F(PoolerCancelTest, ACancelThatIsSlowToArriveHitsNoLaterCallOfItsClient) {
  start_behind_proxy(1);
  const auto connection = connect_pooled();
  ASSERT_TRUE(run(connection->query("SELECT 1")));  // Its server connection is made.
  delay_new_connections(400ms);
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(connection->query("SELECT pg_sleep(0.2)", {}, 50ms));
  works.push_back(after(connection.get(), 100ms, "SELECT pg_sleep(0.6), 'mine'"));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().code, Errc::kTimeout);
  ASSERT_TRUE(results[1]) << results[1].error().message;
  EXPECT_EQ(results[1]->text(0, 1), "mine");
}

TEST_F(PoolerCancelTest, ACancelThatIsSlowToArriveHitsNoOtherClient) {
  start_behind_proxy(1);
  const auto hasty = connect_pooled();
  const auto other = connect_pooled();
  ASSERT_TRUE(run(hasty->query("SELECT 1")));
  delay_new_connections(400ms);
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(hasty->query("SELECT pg_sleep(0.2)", {}, 50ms));
  // Waits for the one server connection, which hasty's statement leaves long before the cancel.
  works.push_back(after(other.get(), 100ms, "SELECT pg_sleep(0.6), 'other'"));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().code, Errc::kTimeout);
  ASSERT_TRUE(results[1]) << results[1].error().message;
  EXPECT_EQ(results[1]->text(0, 1), "other");
}

// The pooler has nothing to cancel then, and must not answer in the statement's place.
TEST_F(PoolerCancelTest, ACallThatGivesUpWaitingForAServerConnectionHarmsNobody) {
  start_pooler(1);
  const auto holder = connect_pooled();
  const auto waiter = connect_pooled();
  ASSERT_TRUE(run(holder->query("BEGIN")));
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(waiter->query("SELECT 1", {}, 100ms));
  for (int i = 2; i < 10; ++i) works.push_back(waiter->query("SELECT $1::int", params(i)));
  works.push_back(after(holder.get(), 500ms, "COMMIT"));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().code, Errc::kTimeout);
  for (std::size_t i = 1; i < 9; ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    EXPECT_EQ(results[i]->integer(0, 0), static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_TRUE(results[9]);
  EXPECT_EQ(run(waiter->query("SELECT 11"))->integer(0, 0), 11);
}

TEST_F(PoolerCancelTest, ClosingCancelsWhatIsInFlightOnTheServer) {
  start_pooler(1);
  const auto connection = connect_pooled();
  const std::string is_there =
      "EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE "
      "'%''left''%' AND pid <> pg_backend_pid())";
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(connection->query("SELECT pg_sleep(100), 'left'"));
  works.push_back(
      [](Plain* plain, Connection* c, std::string sent) -> asio::awaitable<Result<Rows>> {
        EXPECT_TRUE(plain->becomes_true(sent));
        c->close();
        co_return Rows{};
      }(&plain(), connection.get(), is_there));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().code, Errc::kUnavailable);
  EXPECT_TRUE(plain().becomes_true("NOT " + is_there));
}

}  // namespace
}  // namespace plimsoll::pg
