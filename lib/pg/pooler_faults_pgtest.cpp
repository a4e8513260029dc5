// PgBouncer full, its server gone, itself gone: what each caller is told.
#include <gmock/gmock.h>

#include "fixtures/pgbouncer/console.hpp"
#include "fixtures/postgres/local.hpp"
#include "lib/pg/pooler_pgtest.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class PoolerFaultsTest : public PoolerTest {
 protected:
  static std::vector<asio::awaitable<Result<Rows>>> endless(Connection& connection) {
    std::vector<asio::awaitable<Result<Rows>>> works;
    for (int i = 0; i < 5; ++i) works.push_back(connection.query("SELECT pg_sleep(600)"));
    return works;
  }
  /// True once a client of the test's own pooler executes something.
  [[nodiscard]] bool is_busy() const {
    const auto pools = fixtures::show(pooler_->admin_dsn(), "POOLS");
    return pools && fixtures::sum(*pools, "sv_active", name_) > 0;
  }
  /// Runs it once the pooler is busy.
  asio::awaitable<Result<Rows>> once_busy(asio::any_io_executor executor,
                                          std::function<void()> what) {
    asio::steady_timer timer(executor);
    for (int i = 0; i < 6'000 && !is_busy(); ++i) {
      timer.expires_after(10ms);
      co_await timer.async_wait(asio::use_awaitable);
    }
    what();
    co_return Rows{};
  }

  std::string name_;
};

TEST_F(PoolerFaultsTest, APoolThatStaysExhaustedIsBusyForEveryCallInFlight) {
  fixtures::LocalPgbouncer::Options options;
  options.default_pool_size = 1;
  options.query_wait_timeout = 1s;
  start_pooler(options);
  const auto holder = connect_pooled();
  const auto waiter = connect_pooled();
  ASSERT_TRUE(run(holder->query("BEGIN")));
  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < 3; ++i) works.push_back(waiter->query("SELECT 1"));
  for (const auto& result : run_all(std::move(works))) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kBusy) << result.error().message;
    EXPECT_EQ(result.error().sqlstate, "08P01");
    EXPECT_THAT(result.error().message, HasSubstr("query_wait_timeout"));
  }
  // The pooler has closed the connection; whoever comes again needs another.
  EXPECT_FALSE(waiter->is_open());
  EXPECT_EQ(run(waiter->query("SELECT 1")).error().code, Errc::kUnavailable);
  ASSERT_TRUE(run(holder->query("COMMIT")));
  EXPECT_TRUE(run(connect_pooled()->query("SELECT 1")));
}

TEST_F(PoolerFaultsTest, OneClientTooManyIsBusy) {
  fixtures::LocalPgbouncer::Options options;
  options.max_client_conn = 3;
  start_pooler(options);
  std::vector<std::unique_ptr<Connection>> connections;
  Result<std::unique_ptr<Connection>> last = nullptr;
  for (int i = 0; i < 5 && last; ++i) {
    last = run(Connection::connect(pooled()));
    if (last) connections.push_back(std::move(*last));
  }
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Errc::kBusy) << last.error().message;
  connections.pop_back();
  EXPECT_TRUE(run(connections.front()->query("SELECT 1")));
}

TEST_F(PoolerFaultsTest, AServerKilledBehindThePoolerFailsWhatIsInFlightAndComesBack) {
  auto postgres = fixtures::LocalPostgres::start();
  ASSERT_TRUE(postgres) << postgres.error().message;
  fixtures::LocalPgbouncer::Options options;
  options.server_dsn = postgres->dsn();
  auto started = fixtures::LocalPgbouncer::start(options);
  ASSERT_TRUE(started) << started.error().message;
  pooler_ = std::move(*started);
  name_ = "postgres";
  Config config(pooler_->dsn());
  config.pooled = true;
  const auto busy = connect(config);
  const auto idle = connect(config);
  auto works = endless(*busy);
  works.push_back(once_busy(loop_.get_executor(), [&] { ASSERT_TRUE(postgres->kill9()); }));
  const auto results = run_all(std::move(works));
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_FALSE(results[i]);
    EXPECT_EQ(results[i].error().code, Errc::kUnavailable) << results[i].error().message;
  }
  EXPECT_FALSE(busy->is_open());
  ASSERT_TRUE(postgres->restart());
  // A client that had nothing in flight never notices, and a new one is let in.
  const auto again = run(idle->query("SELECT 1"));
  EXPECT_TRUE(again) << again.error().message;
  EXPECT_TRUE(run(connect(config)->query("SELECT 1")));
}

TEST_F(PoolerFaultsTest, APoolerThatIsKilledFailsWhatIsInFlightAndComesBack) {
  start_pooler(2);
  name_ = route_->database();
  const auto connection = connect_pooled();
  auto works = endless(*connection);
  works.push_back(once_busy(loop_.get_executor(), [this] { ASSERT_TRUE(pooler_->kill9()); }));
  const auto results = run_all(std::move(works));
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_FALSE(results[i]);
    EXPECT_EQ(results[i].error().code, Errc::kUnavailable) << results[i].error().message;
  }
  const auto refused = run(Connection::connect(pooled()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  ASSERT_TRUE(pooler_->restart());
  EXPECT_TRUE(run(connect_pooled()->query("SELECT 1")));
}

TEST_F(PoolerFaultsTest, ADatabaseThatIsNotThereIsNotFound) {
  start_pooler(1);
  Config nowhere = pooled();
  nowhere.dsn += " dbname=plimsoll_nowhere";
  const auto connection = run(Connection::connect(nowhere));
  const auto error =
      connection ? run((*connection)->query("SELECT 1")).error() : connection.error();
  EXPECT_EQ(error.code, Errc::kNotFound) << error.message;
}

TEST_F(PoolerFaultsTest, ARoleThatIsNotThereIsRefused) {
  start_pooler(1);
  Config nobody = pooled();
  nobody.dsn += " user=plimsoll_nobody";
  const auto connection = run(Connection::connect(nobody));
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, Errc::kRefused) << connection.error().message;
}

}  // namespace
}  // namespace plimsoll::pg
