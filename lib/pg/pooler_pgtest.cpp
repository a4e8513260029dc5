// What holds through PgBouncer in transaction mode, and what does not: each line of the table in
// docs/pgbouncer.md is a test here or in pooler_cancel_pgtest.cpp or pooler_faults_pgtest.cpp.
#include "lib/pg/pooler_pgtest.hpp"

#include <gmock/gmock.h>

#include <set>

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// `count` groups on one connection at once; every tenth fails.
asio::awaitable<int> ask_many(Connection* connection, int first, int count) {
  const auto answers =
      std::make_shared<std::vector<std::optional<Result<Rows>>>>(static_cast<std::size_t>(count));
  const auto left = std::make_shared<int>(count);
  asio::steady_timer done(connection->executor(), 60s);
  for (int i = 0; i < count; ++i) {
    asio::co_spawn(connection->executor(),
                   connection->query("SELECT $1::int, 1 / ($1::int % 10)", params(first + i)),
                   [answers, left, &done, i](const std::exception_ptr&, Result<Rows> answer) {
                     (*answers)[static_cast<std::size_t>(i)] = std::move(answer);
                     if (--*left == 0) done.cancel();
                   });
  }
  co_await done.async_wait(kAsValue);
  int right = 0;
  for (int i = 0; i < count; ++i) {
    const auto& answer = (*answers)[static_cast<std::size_t>(i)];
    if (!answer) co_return -1;
    const bool fails = (first + i) % 10 == 0;
    if (fails && !*answer && answer->error().sqlstate == "22012") ++right;
    if (!fails && *answer && (*answer)->integer(0, 0) == first + i) ++right;
  }
  co_return right;
}

TEST_F(PoolerTest, ManySyncsInFlightKeepTheirOrderAndTheirErrors) {
  for (const int size : {1, 3}) {
    start_pooler(size);
    std::vector<std::unique_ptr<Connection>> connections;
    std::vector<asio::awaitable<int>> works;
    for (int i = 0; i < 4; ++i) connections.push_back(connect_pooled());
    for (int i = 0; i < 4; ++i) {
      works.push_back(ask_many(connections[static_cast<std::size_t>(i)].get(), 1'000 * i, 500));
    }
    for (const int right : run_all(std::move(works))) EXPECT_EQ(right, 500);
    for (const auto& connection : connections) EXPECT_TRUE(connection->is_idle());
    connections.clear();
    route_.reset();
    pooler_.reset();
  }
}

TEST_F(PoolerTest, AGroupIsOneTransactionOnOneServerConnection) {
  start_pooler(2);
  plain().text("CREATE TABLE t (n int UNIQUE)");
  const auto connection = connect_pooled();
  const auto results = run(
      connection->pipeline({Query("INSERT INTO t VALUES (1)"), Query("INSERT INTO t VALUES (2)"),
                            Query("INSERT INTO t VALUES (1)")}));
  EXPECT_EQ(results.back().error().code, Errc::kConflict);
  EXPECT_EQ(plain().text("SELECT count(*) FROM t"), "0");
  const auto pids = run(
      connection->pipeline({Query("SELECT pg_backend_pid()"), Query("SELECT pg_backend_pid()")}));
  EXPECT_EQ(pids[0]->text(0, 0), pids[1]->text(0, 0));
}

TEST_F(PoolerTest, ALocalIdentityEndsWithItsGroup) {
  start_pooler(1);
  const auto connection = connect_pooled();
  const Query who("SELECT coalesce(current_setting('app.tenant', true), '')");
  const auto stamped =
      run(connection->pipeline({Query("SELECT set_config('app.tenant', 'ann', true)"), who}));
  ASSERT_TRUE(stamped[1]) << stamped[1].error().message;
  EXPECT_EQ(stamped[1]->text(0, 0), "ann");
  EXPECT_EQ(run(connection->query(who))->text(0, 0), "");
  EXPECT_EQ(run(connect_pooled()->query(who))->text(0, 0), "");
}

TEST_F(PoolerTest, ATransactionOverSeveralGroupsKeepsItsServerConnection) {
  start_pooler(2);
  plain().text("CREATE TABLE t (n int)");
  const auto mine = connect_pooled();
  const auto other = connect_pooled();
  ASSERT_TRUE(run(mine->query("BEGIN")));
  std::set<std::string> pids;
  for (int i = 0; i < 20; ++i) {
    const auto pid = run(mine->query("INSERT INTO t VALUES (1) RETURNING pg_backend_pid()"));
    ASSERT_TRUE(pid) << pid.error().message;
    pids.emplace(pid->text(0, 0));
    const auto others = run(other->query("SELECT pg_backend_pid()"));
    ASSERT_TRUE(others) << others.error().message;
    EXPECT_FALSE(pids.contains(std::string(others->text(0, 0))));
  }
  EXPECT_EQ(pids.size(), 1U);
  ASSERT_TRUE(run(mine->query("COMMIT")));
  EXPECT_EQ(plain().text("SELECT count(*) FROM t"), "20");
}

TEST_F(PoolerTest, AScriptGoesThroughAsWell) {
  start_pooler(1);
  const auto connection = connect_pooled();
  ASSERT_TRUE(run(connection->script("CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2)")));
  EXPECT_EQ(run(connection->query("SELECT count(*) FROM t"))->integer(0, 0), 2);
  const auto failed = run(connection->script("INSERT INTO t VALUES (3); SELECT 1 / 0"));
  EXPECT_EQ(failed.error().sqlstate, "22012");
  EXPECT_EQ(run(connection->query("SELECT count(*) FROM t"))->integer(0, 0), 2);
}

TEST_F(PoolerTest, ANamedStatementIsRefusedBeforeItIsSent) {
  start_pooler(1);
  const auto connection = connect_pooled();
  const auto refused = run(connection->query(Query("SELECT 1", {}, "one")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("send it without"));
  const auto pipelined =
      run(connection->pipeline({Query("SELECT 1"), Query("SELECT 2", {}, "two")}));
  for (const auto& result : pipelined) EXPECT_EQ(result.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(connection->counters().statements, 0U);
  EXPECT_TRUE(run(connection->query("SELECT 1")));
}

// Why they are refused: what the next client, or the next transaction, would get.
TEST_F(PoolerTest, ANameThatIsNotRefusedMeetsSomebodyElsesStatement) {
  start_pooler(1);
  Config unaware = pooled();
  unaware.pooled = false;
  const auto mine = connect(unaware);
  const auto other = connect(unaware);
  ASSERT_TRUE(run(mine->query(Query("SELECT 'mine'", {}, "shared"))));
  const auto clash = run(other->query(Query("SELECT 'other'", {}, "shared")));
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().sqlstate, "42P05") << clash.error().message;  // It exists already.
}

TEST_F(PoolerTest, OptionsAreRefusedByUsAndByThePooler) {
  start_pooler(1);
  Config with_options = pooled();
  with_options.dsn += " options=-csearch_path=elsewhere";
  const auto ours = run(Connection::connect(with_options));
  ASSERT_FALSE(ours);
  EXPECT_EQ(ours.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(ours.error().message, HasSubstr("connect_query"));
  with_options.pooled = false;
  const auto theirs = run(Connection::connect(with_options));
  ASSERT_FALSE(theirs);
  EXPECT_EQ(theirs.error().code, Errc::kInvalidArgument) << theirs.error().message;
  EXPECT_THAT(theirs.error().message, HasSubstr("unsupported startup parameter"));
}

TEST_F(PoolerTest, WhatASessionSetsIsLeftToTheNextClient) {
  start_pooler(1);
  const auto mine = connect_pooled();
  const auto other = connect_pooled();
  ASSERT_TRUE(run(mine->query("SET app.tenant = 'ann'")));
  EXPECT_EQ(run(other->query("SELECT current_setting('app.tenant', true)"))->text(0, 0), "ann");
  const auto local = run(
      mine->pipeline({Query("SELECT set_config('app.tenant', 'bob', true)"), Query("SELECT 1")}));
  ASSERT_TRUE(local.back());
  EXPECT_EQ(run(other->query("SELECT current_setting('app.tenant', true)"))->text(0, 0), "ann");
}

TEST_F(PoolerTest, TheProcessNumberIsThePoolersOwn) {
  start_pooler(1);
  const auto connection = connect_pooled();
  const auto pid = run(connection->query("SELECT pg_backend_pid()"));
  ASSERT_TRUE(pid);
  EXPECT_NE(pid->integer(0, 0), connection->backend_pid());
}

TEST_F(PoolerTest, ACopyGoesThroughOnAConnectionOfItsOwn) {
  start_pooler(1);
  plain().text("CREATE TABLE t (n int)");
  const std::unique_ptr<PGconn, decltype(&PQfinish)> raw(PQconnectdb(route_->dsn().c_str()),
                                                         &PQfinish);
  ASSERT_EQ(PQstatus(raw.get()), CONNECTION_OK) << PQerrorMessage(raw.get());
  const auto status = [](PGresult* result) {
    const auto code = PQresultStatus(result);
    PQclear(result);
    return code;
  };
  ASSERT_EQ(status(PQexec(raw.get(), "COPY t FROM STDIN")), PGRES_COPY_IN);
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  ASSERT_EQ(PQputCopyData(raw.get(), text.data(), static_cast<int>(text.size())), 1);
  ASSERT_EQ(PQputCopyEnd(raw.get(), nullptr), 1);
  ASSERT_EQ(status(PQgetResult(raw.get())), PGRES_COMMAND_OK);
  ASSERT_EQ(PQgetResult(raw.get()), nullptr);
  ASSERT_EQ(status(PQexec(raw.get(), "COPY t TO STDOUT")), PGRES_COPY_OUT);
  std::size_t lines = 0;
  char* line = nullptr;
  for (; PQgetCopyData(raw.get(), &line, 0) > 0; PQfreemem(line)) ++lines;
  EXPECT_EQ(lines, 100'000U);
  ASSERT_EQ(status(PQgetResult(raw.get())), PGRES_COMMAND_OK);

  // As a query it is refused, as on a direct connection, and nobody else is harmed.
  const auto connection = connect_pooled();
  EXPECT_EQ(run(connection->query("COPY t TO STDOUT")).error().code, Errc::kProtocol);
  EXPECT_TRUE(run(connect_pooled()->query("SELECT 1")));
}

}  // namespace
}  // namespace plimsoll::pg
