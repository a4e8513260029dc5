#include "lib/pg/connection.hpp"
#include "lib/pg/server_pgtest.hpp"

namespace plimsoll::pg {
namespace {

class CountersTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (HasFatalFailure()) return;
    plain().text("CREATE TABLE t (n int PRIMARY KEY, v text)");
    connection_ = connect();
  }
  const Counters& count() const { return connection_->counters(); }

  std::unique_ptr<Connection> connection_;
};

TEST_F(CountersTest, StartAtZero) { EXPECT_EQ(count(), Counters{}); }

TEST_F(CountersTest, AreExactForEachKindOfCall) {
  ASSERT_TRUE(run(connection_->query("INSERT INTO t VALUES ($1, $2)", params(1, "abc"))));
  Counters expected{.statements = 1,
                    .errors = 0,
                    .prepares = 0,
                    .round_trips = 1,
                    .commits = 1,
                    .rows = 1,
                    .bytes_sent = 29 + 1 + 3,
                    .bytes_received = 0};
  EXPECT_EQ(count(), expected);

  const Query named("SELECT v FROM t WHERE n = $1", params(1), "get");
  ASSERT_TRUE(run(connection_->query(named)));
  ASSERT_TRUE(run(connection_->query(named)));
  expected += {.statements = 2,
               .errors = 0,
               .prepares = 1,
               .round_trips = 2,
               .commits = 0,
               .rows = 2,
               .bytes_sent = 28 + 1 + 1,
               .bytes_received = 6};
  EXPECT_EQ(count(), expected);

  ASSERT_TRUE(run(connection_->script("INSERT INTO t VALUES (2); DELETE FROM t WHERE n = 2")));
  expected += {.statements = 2,
               .errors = 0,
               .prepares = 0,
               .round_trips = 1,
               .commits = 1,
               .rows = 2,
               .bytes_sent = 51,
               .bytes_received = 0};
  EXPECT_EQ(count(), expected);
}

TEST_F(CountersTest, DoNotCountWhatWasNotExecuted) {
  (void)run(connection_->pipeline({Query("SELECT 1"), Query("SELECT 1/0"), Query("SELECT 2")}));
  EXPECT_EQ(count().statements, 2U);
  EXPECT_EQ(count().errors, 1U);
  EXPECT_EQ(count().rows, 1U);
  EXPECT_EQ(count().commits, 0U);
}

TEST_F(CountersTest, AgreeWithTheServersStatistics) {
  const auto loaded = plain().text(
      "SELECT count(*) FROM pg_extension, pg_settings WHERE extname = 'pg_stat_statements' AND "
      "name = 'pg_stat_statements.max'");
  if (loaded != "1") GTEST_SKIP() << "this server has no pg_stat_statements";
  const auto where = plain().text(
      "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
      "WHERE extname = 'pg_stat_statements'");
  // The texts name the test's table, and so only this test's statements match.
  const auto table = schema_->name() + ".t";
  const auto server_count = [&](const std::string& what) {
    return std::stoull(plain().text("SELECT coalesce(sum(" + what + "), 0) FROM " + where +
                                    ".pg_stat_statements WHERE query LIKE '%" + table +
                                    "%' AND query NOT LIKE '%pg_stat_statements%'"));
  };
  const auto calls_before = server_count("calls");
  const auto rows_before = server_count("rows");

  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < 100; ++i) {
    works.push_back(connection_->query(
        Query("INSERT INTO " + table + " VALUES ($1, 'x')", params(i), i % 2 ? "insert" : "")));
  }
  for (int i = 0; i < 20; ++i) {
    works.push_back(connection_->query("SELECT * FROM " + table + " LIMIT 10"));
    works.push_back(connection_->query("UPDATE " + table + " SET v = 'y' WHERE n < 5"));
    works.push_back(connection_->query("SELECT 1/0 FROM " + table));
  }
  for (const auto& result : run_all(std::move(works))) {
    EXPECT_TRUE(result || result.error().sqlstate == "22012") << result.error().message;
  }
  ASSERT_TRUE(run(connection_->script("SELECT count(*) FROM " + table + "; DELETE FROM " + table)));

  EXPECT_EQ(count().errors, 20U);
  EXPECT_EQ(count().statements - count().errors, server_count("calls") - calls_before);
  EXPECT_EQ(count().rows, server_count("rows") - rows_before);
  EXPECT_EQ(count().commits, 100U + 20U + 1U);
  EXPECT_EQ(count().prepares, 1U);
}

TEST_F(CountersTest, CommitsAgreeWithTheServersTransactionIds) {
  // An id is taken only by a transaction that writes, and nothing else writes to this test's table.
  ASSERT_TRUE(run(connection_->query("BEGIN")));
  ASSERT_TRUE(run(connection_->query("INSERT INTO t VALUES (1)")));
  ASSERT_TRUE(run(connection_->query("COMMIT")));
  (void)run(connection_->pipeline({Query("INSERT INTO t VALUES (2)"), Query("SELECT 1/0")}));
  (void)run(connection_->pipeline({Query("INSERT INTO t VALUES (3)"), Query("SELECT 1")}));
  ASSERT_TRUE(run(connection_->script("BEGIN; INSERT INTO t VALUES (4); ROLLBACK")));
  ASSERT_TRUE(run(connection_->query("INSERT INTO t VALUES (5)")));
  EXPECT_EQ(std::to_string(count().commits),
            plain().text("SELECT count(DISTINCT xmin::text) FROM t"));
}

}  // namespace
}  // namespace plimsoll::pg
