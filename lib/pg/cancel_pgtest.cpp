#include <boost/asio/post.hpp>

#include "lib/core/with_timeout.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/server_pgtest.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;

class CancelTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (!HasFatalFailure()) connection_ = connect();
  }
  /// Sleeps longer than the test may last, unless it is cancelled.
  static Query endless() { return Query("SELECT pg_sleep(600)"); }

  std::unique_ptr<Connection> connection_;
};

TEST_F(CancelTest, ATimeoutReachesItsCallerAndTheStatementIsCancelled) {
  const auto late = run(connection_->query(endless(), 50ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kTimeout);
  EXPECT_FALSE(late.error().poisons_connection());
  // The loop came to an end, so the answer to the cancelled statement has been taken.
  EXPECT_TRUE(connection_->is_idle());
  EXPECT_EQ(run(connection_->query("SELECT 5"))->integer(0, 0), 5);
  EXPECT_EQ(plain().text("SELECT " + is_busy(*connection_)), "f");
}

TEST_F(CancelTest, TheLimitOfTheConnectionIsTheDefault) {
  Config quick = config();
  quick.statement_timeout = 50ms;
  const auto connection = connect(quick);
  EXPECT_EQ(run(connection->query(endless())).error().code, Errc::kTimeout);
  EXPECT_EQ(run(connection->script("SELECT pg_sleep(600)")).error().code, Errc::kTimeout);
  EXPECT_EQ(run(connection->pipeline({endless()})).front().error().code, Errc::kTimeout);
  EXPECT_TRUE(run(connection->query("SELECT 1", {}, 60s)).has_value());
}

TEST_F(CancelTest, NeighboursOfATimeoutGetTheirOwnAnswers) {
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(connection_->query("SELECT 1"));
  works.push_back(connection_->query(endless(), 100ms));
  for (int i = 2; i < 20; ++i) works.push_back(connection_->query("SELECT $1::int", params(i)));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[1].error().code, Errc::kTimeout);
  for (std::size_t i = 2; i < results.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    EXPECT_EQ(results[i]->integer(0, 0), static_cast<std::int64_t>(i));
  }
}

TEST_F(CancelTest, ACallThatTimesOutBehindAnotherLeavesThatOneAlone) {
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(connection_->query("SELECT pg_sleep(1), 'slept'"));
  works.push_back(connection_->query("SELECT 2", {}, 50ms));
  works.push_back(connection_->query("SELECT 3"));
  const auto results = run_all(std::move(works));
  ASSERT_TRUE(results[0]) << results[0].error().message;
  EXPECT_EQ(results[0]->text(0, 1), "slept");
  EXPECT_EQ(results[1].error().code, Errc::kTimeout);
  EXPECT_EQ(results[2]->integer(0, 0), 3);
}

TEST_F(CancelTest, ALongStatementWhoseCallerLeftBeforeItsTurnIsCancelledThen) {
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(connection_->query("SELECT pg_sleep(0.5)"));
  works.push_back(connection_->query(endless(), 50ms));
  works.push_back(connection_->query("SELECT 3"));
  const auto results = run_all(std::move(works));
  EXPECT_TRUE(results[0].has_value());
  EXPECT_EQ(results[1].error().code, Errc::kTimeout);
  EXPECT_EQ(results[2]->integer(0, 0), 3);
}

TEST_F(CancelTest, ACallThatWasNeverSentIsNeverExecuted) {
  plain().text("CREATE TABLE t (n int)");
  std::vector<asio::awaitable<Result<Rows>>> works;
  // A script travels alone, so the insert still waits here when its time is up.
  works.push_back([](Connection* c) -> asio::awaitable<Result<Rows>> {
    auto done = co_await c->script("SELECT pg_sleep(0.5); SELECT 1");
    if (!done) co_return fail(done.error());
    co_return Rows{};
  }(connection_.get()));
  works.push_back(connection_->query("INSERT INTO t VALUES (1)", {}, 20ms));
  const auto results = run_all(std::move(works));
  EXPECT_TRUE(results[0].has_value());
  EXPECT_EQ(results[1].error().code, Errc::kTimeout);
  EXPECT_EQ(plain().text("SELECT count(*) FROM t"), "0");
  EXPECT_EQ(connection_->counters().round_trips, 1U);
}

TEST_F(CancelTest, EveryStatementOfATimedOutPipelineSaysSo) {
  const auto results =
      run(connection_->pipeline({Query("SELECT 1"), endless(), Query("SELECT 2")}, 100ms));
  ASSERT_EQ(results.size(), 3U);
  for (const auto& result : results) EXPECT_EQ(result.error().code, Errc::kTimeout);
  EXPECT_TRUE(run(connection_->query("SELECT 1")).has_value());
}

TEST_F(CancelTest, WithTimeoutAroundACallLeavesTheConnectionUsable) {
  for (int i = 0; i < 3; ++i) {
    const auto raced = run(with_timeout(connection_->query(endless()), 50ms));
    EXPECT_FALSE(raced.has_value());
    EXPECT_EQ(run(connection_->query("SELECT 7"))->integer(0, 0), 7);
  }
}

TEST_F(CancelTest, WithTimeoutAroundOneCallLeavesItsNeighboursAlone) {
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back([](Connection* c) -> asio::awaitable<Result<Rows>> {
    auto call = c->query(endless());
    auto raced = co_await with_timeout(std::move(call), 50ms);
    if (!raced) co_return fail(Errc::kTimeout, "as expected");
    co_return std::move(*raced);
  }(connection_.get()));
  for (int i = 1; i < 10; ++i) works.push_back(connection_->query("SELECT $1::int", params(i)));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().message, "as expected");
  for (std::size_t i = 1; i < results.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    EXPECT_EQ(results[i]->integer(0, 0), static_cast<std::int64_t>(i));
  }
}

TEST_F(CancelTest, ATransactionBlockThatWasCancelledIsStillOpen) {
  ASSERT_TRUE(run(connection_->query("BEGIN")));
  EXPECT_EQ(run(connection_->query(endless(), 50ms)).error().code, Errc::kTimeout);
  EXPECT_EQ(run(connection_->query("SELECT 1")).error().sqlstate, "25P02");
  ASSERT_TRUE(run(connection_->query("ROLLBACK")));
  EXPECT_TRUE(run(connection_->query("SELECT 1")).has_value());
}

TEST_F(CancelTest, TheServersOwnTimeoutIsACancelOfTheStatement) {
  ASSERT_TRUE(run(connection_->query("SET statement_timeout = '20ms'")));
  const auto cancelled = run(connection_->query(endless()));
  EXPECT_EQ(cancelled.error().code, Errc::kCancelled);
  EXPECT_EQ(cancelled.error().sqlstate, "57014");
}

// Callers give up at random around the moment of the answer, where a late cancel could hit a
// neighbour. Nobody may get another's answer or an error that is not his own.
TEST_F(CancelTest, AStormOfTimeoutsNeverHitsANeighbour) {
  plain().text("CREATE TABLE t (n int)");
  std::vector<asio::awaitable<Result<Rows>>> works;
  constexpr int kCalls = 400;
  for (int i = 0; i < kCalls; ++i) {
    const bool is_hasty = i % 3 == 0;
    works.push_back(connection_->query(
        Query("WITH w AS (INSERT INTO t VALUES ($1) RETURNING n) SELECT n, pg_sleep($2) FROM w",
              params(i, is_hasty ? "0.004" : "0.001"), "insert"),
        is_hasty ? Timeout(i * 2ms) : Timeout(60s)));
  }
  const auto results = run_all(std::move(works));
  int answered = 0;
  for (int i = 0; i < kCalls; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (i % 3 == 0 && !result) {
      EXPECT_EQ(result.error().code, Errc::kTimeout) << result.error().message;
      continue;
    }
    ASSERT_TRUE(result) << i << ": " << result.error().message;
    EXPECT_EQ(result->integer(0, 0), i);
    ++answered;
  }
  EXPECT_TRUE(connection_->is_idle());
  // Each answered call inserted exactly once, also one that was sent again.
  EXPECT_EQ(plain().text("SELECT count(*) - count(DISTINCT n) FROM t"), "0");
  EXPECT_GE(std::stoi(plain().text("SELECT count(*) FROM t")), answered);
}

}  // namespace
}  // namespace plimsoll::pg
