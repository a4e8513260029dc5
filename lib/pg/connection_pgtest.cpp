#include "lib/pg/connection.hpp"

#include "lib/pg/server_pgtest.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ConnectionTest : public ServerTest {};

TEST_F(ConnectionTest, BindsParametersAndReturnsRows) {
  const auto connection = connect();
  const auto rows = run(connection->query("SELECT $1::int + 1, $2::text, $3::text",
                                          params(41, "O'Neil", std::nullopt)));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->integer(0, 0), 42);
  EXPECT_EQ(rows->text(0, 1), "O'Neil");
  EXPECT_EQ(rows->value(0, 2), std::nullopt);
}

TEST_F(ConnectionTest, RowsOutliveTheirConnection) {
  auto connection = connect();
  const auto rows = run(connection->query("SELECT 'still here'"));
  connection.reset();
  EXPECT_EQ(rows->text(0, 0), "still here");
}

TEST_F(ConnectionTest, SaysWhomItTalksTo) {
  const auto connection = connect();
  const auto rows = run(
      connection->query("SELECT pg_backend_pid(), current_setting('server_version_num'), "
                        "current_setting('application_name'), current_setting('client_encoding')"));
  EXPECT_EQ(rows->integer(0, 0), connection->backend_pid());
  EXPECT_EQ(rows->integer(0, 1), connection->server_version());
  EXPECT_EQ(rows->text(0, 2), "plimsoll");
  EXPECT_EQ(rows->text(0, 3), "UTF8");
}

TEST_F(ConnectionTest, ALargeStatementAndALargerAnswerDoNotDeadlock) {
  const auto connection = connect();
  std::string large(20'000'000, 'x');
  const auto rows = run(connection->query("SELECT $1, repeat('y', 30000000)", params(large)));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->text(0, 0), large);
  EXPECT_EQ(rows->text(0, 1).size(), 30'000'000U);
}

TEST_F(ConnectionTest, LargeStatementsBehindOneAnotherDoNotDeadlock) {
  const auto connection = connect();
  const std::string large(3'000'000, 'x');
  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < 10; ++i) works.push_back(connection->query("SELECT $1", params(large)));
  for (const auto& rows : run_all(std::move(works))) {
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->text(0, 0).size(), large.size());
  }
  EXPECT_EQ(run(connection->query("SELECT 1"))->integer(0, 0), 1);
}

TEST_F(ConnectionTest, AnSqlErrorLeavesTheConnectionUsable) {
  const auto connection = connect();
  const auto refused = run(connection->query("SELEC 1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kRejected);
  EXPECT_EQ(refused.error().sqlstate, "42601");
  EXPECT_THAT(refused.error().message, HasSubstr("at character 1"));
  EXPECT_TRUE(run(connection->query("SELECT 1")).has_value());
}

TEST_F(ConnectionTest, TwoStatementsInOneQueryAreRefused) {
  const auto connection = connect();
  const auto refused = run(connection->query("SELECT 1; SELECT 2"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sqlstate, "42601");
}

TEST_F(ConnectionTest, WhatCannotBeSentIsRefusedBeforeAnythingIs) {
  const auto connection = connect();
  using namespace std::string_literals;
  EXPECT_EQ(run(connection->query("SELECT 1\0"s)).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(run(connection->query("SELECT $1", params("a\0b"s))).error().code,
            Errc::kInvalidArgument);
  EXPECT_EQ(run(connection->query("SELECT 1", Params(65536))).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(run(connection->script("SELECT 1\0"s)).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(connection->counters(), Counters{});
}

TEST_F(ConnectionTest, SixtyFiveThousandParametersWork) {
  const auto connection = connect();
  std::string sql = "SELECT 1 WHERE '7' IN ($1";
  for (int i = 2; i <= 65535; ++i) sql += ",$" + std::to_string(i);
  Params values(65535);
  values.back() = "7";
  const auto rows = run(connection->query(sql + ")", values));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->size(), 1U);
}

TEST_F(ConnectionTest, AnEmptyStatementHasNoRows) {
  const auto connection = connect();
  const auto rows = run(connection->query(""));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_TRUE(rows->empty());
}

TEST_F(ConnectionTest, AScriptRunsSeveralStatementsBetweenCalls) {
  const auto connection = connect();
  const auto script = run(
      connection->script("CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2); SELECT * FROM t"));
  ASSERT_TRUE(script) << script.error().message;
  EXPECT_EQ(run(connection->query("SELECT sum(n) FROM t"))->integer(0, 0), 3);
}

TEST_F(ConnectionTest, AFailedScriptIsUndoneAsAWhole) {
  const auto connection = connect();
  const auto script = run(connection->script("CREATE TABLE t (n int); SELECT 1/0; SELECT 2"));
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().sqlstate, "22012");
  EXPECT_EQ(run(connection->query("SELECT to_regclass('t')"))->value(0, 0), std::nullopt);
}

TEST_F(ConnectionTest, CallsAroundAScriptKeepTheirOrder) {
  const auto connection = connect();
  ASSERT_TRUE(run(connection->script("CREATE TABLE t (n int)")));
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(connection->query("INSERT INTO t VALUES (1)"));
  works.push_back([](Connection* c) -> asio::awaitable<Result<Rows>> {
    auto done = co_await c->script("UPDATE t SET n = n * 10; INSERT INTO t VALUES (2)");
    if (!done) co_return fail(done.error());
    co_return Rows{};
  }(connection.get()));
  works.push_back(connection->query("SELECT string_agg(n::text, ',' ORDER BY n) FROM t"));
  const auto results = run_all(std::move(works));
  ASSERT_TRUE(results[2]) << results[2].error().message;
  EXPECT_EQ(results[2]->text(0, 0), "2,10");
}

TEST_F(ConnectionTest, AnIdleConnectionDoesNotKeepTheLoopRunning) {
  const auto connection = connect();
  ASSERT_TRUE(run(connection->query("SELECT 1")));
  loop_.restart();
  EXPECT_EQ(loop_.poll(), 0U);
  EXPECT_TRUE(loop_.stopped());
}

TEST_F(ConnectionTest, CopyPoisonsTheConnectionAndSaysSo) {
  const auto connection = connect();
  ASSERT_TRUE(run(connection->script("CREATE TABLE t (n int)")));
  const auto copied = run(connection->query("COPY t FROM STDIN"));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::kProtocol) << copied.error().message;
  EXPECT_FALSE(connection->is_open());
  EXPECT_EQ(run(connection->query("SELECT 1")).error().code, Errc::kProtocol);
}

TEST_F(ConnectionTest, CopyInAScriptPoisonsToo) {
  const auto connection = connect();
  const auto copied = run(connection->script("SELECT 1; COPY (SELECT 1) TO STDOUT"));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::kProtocol);
}

TEST_F(ConnectionTest, NotificationsAreTakenAndDropped) {
  const auto connection = connect();
  ASSERT_TRUE(run(connection->query("LISTEN plimsoll_test")));
  plain().text("NOTIFY plimsoll_test, 'x'");
  EXPECT_EQ(run(connection->query("SELECT 1"))->integer(0, 0), 1);
}

// Names.

TEST_F(ConnectionTest, ANamedStatementIsParsedOnce) {
  const auto connection = connect();
  const Query query("SELECT $1::int * 2", params(21), "twice");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(connection->query(query))->integer(0, 0), 42);
  EXPECT_EQ(run(connection->query("SELECT count(*) FROM pg_prepared_statements"))->integer(0, 0),
            1);
  EXPECT_EQ(connection->counters().prepares, 1U);
}

TEST_F(ConnectionTest, ANamedStatementOutlivesAChangeOfItsTable) {
  const auto connection = connect();
  ASSERT_TRUE(run(connection->script("CREATE TABLE t (n int)")));
  const Query query("SELECT * FROM t", {}, "all of it");
  ASSERT_TRUE(run(connection->query(query)));
  ASSERT_TRUE(run(connection->script("ALTER TABLE t ADD m int")));
  EXPECT_EQ(run(connection->query(query)).error().sqlstate, "0A000");
  const auto rows = run(connection->query(query));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->columns(), 2U);
}

TEST_F(ConnectionTest, ANamedStatementOutlivesDiscardAll) {
  const auto connection = connect();
  const Query query("SELECT 1", {}, "one");
  ASSERT_TRUE(run(connection->query(query)));
  ASSERT_TRUE(run(connection->query("DEALLOCATE ALL")));
  EXPECT_EQ(run(connection->query(query)).error().sqlstate, "26000");
  EXPECT_TRUE(run(connection->query(query)).has_value());
}

}  // namespace
}  // namespace plimsoll::pg
