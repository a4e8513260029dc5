// What a queue promises to each job, whatever the subject.
#include <numeric>

#include "lib/rls_queue/database_pgtest.hpp"

namespace plimsoll::rls {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class EveryQueue : public EverySubject {};

TEST_P(EveryQueue, RunsAJobAsItsIdentityAndNobodyElse) {
  const auto queue = this->queue();
  for (const auto& [tenant, rows] :
       {std::pair{"a", "1"}, std::pair{"b", "1,2"}, std::pair{"c", "1,2,3"}}) {
    EXPECT_EQ(column(run(*queue, {as(tenant), pg::Query("SELECT id FROM notes ORDER BY id")})),
              rows);
  }
  EXPECT_EQ(column(run(*queue, {as("nobody"), pg::Query("SELECT id FROM notes")})), "");
  const auto who = run(
      *queue,
      {as("b", {"x", "y"}), pg::Query("SELECT concat_ws('/', current_setting('plimsoll.tenant'), "
                                      "current_setting('plimsoll.user'), "
                                      "current_setting('plimsoll.roles'))")});
  EXPECT_EQ(column(who), R"(b/ann/{"x","y"})");
}

TEST_P(EveryQueue, SetsAFourthValueWhereTheSettingsHaveOne) {
  Config four = config(GetParam());
  four.settings.with_actor = true;
  const auto queue = open(four);
  const pg::Query query("SELECT current_setting('plimsoll.actor')");
  EXPECT_EQ(column(run(*queue, {*Identity::make("a", "ann", {}, "bob"), query})), "bob");
  EXPECT_EQ(column(run(*queue, {as("a"), query})), "") << "the former job's";
  EXPECT_EQ(identities_left(*queue), 0);
}

TEST_P(EveryQueue, RunsAllStatementsOfAJobOrNone) {
  const auto queue = this->queue();
  const pg::Query write("UPDATE notes SET version = version + 1");
  const auto good = run(*queue, {as("b"), std::vector<pg::Query>{write, write}});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->size(), 2U);
  EXPECT_EQ(good->front().affected(), 2U);
  const auto bad =
      run(*queue, {as("b"), std::vector<pg::Query>{write, pg::Query("SELECT 1 / 0"), write}});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().sqlstate, "22012");
  EXPECT_THAT(bad.error().message, StartsWith("statement 2 of 3: "));
  EXPECT_EQ(number("SELECT sum(version) FROM notes WHERE tenant = 'b'"), 4);
  EXPECT_EQ(number("SELECT sum(version) FROM notes WHERE tenant <> 'b'"), 0);
}

TEST_P(EveryQueue, LeavesNoIdentityOnAConnection) {
  const auto queue = this->queue();
  EXPECT_EQ(identities_left(*queue), 0);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(run(*queue, look("a")));
    EXPECT_FALSE(run(*queue, {as("b"), pg::Query("SELECT 1 / 0")}));
    EXPECT_EQ(identities_left(*queue), 0);
  }
}

TEST_P(EveryQueue, RefusesWhatCouldChangeIdentityOrTransactionBeforeItIsSent) {
  const auto queue = this->queue();
  const auto sent = queue->counters().round_trips;
  for (const char* const statement :
       {"SET plimsoll.tenant = 'b'", "RESET ALL", "COMMIT", "ROLLBACK", "BEGIN",
        "SET ROLE postgres", "SET SESSION AUTHORIZATION postgres", "DISCARD ALL", "DO 'BEGIN END'",
        "SELECT set_config('plimsoll.tenant', 'b', true)", ""}) {
    const auto refused = run(*queue, {as("a"), pg::Query(statement)});
    ASSERT_FALSE(refused) << statement;
    EXPECT_EQ(refused.error().code, Errc::kInvalidArgument) << refused.error().message;
  }
  EXPECT_EQ(queue->counters().round_trips, sent);
}

TEST_P(EveryQueue, LeavesItToTheServerThatAStatementIsOne) {
  const auto queue = this->queue();
  const auto two = run(*queue, {as("a"), pg::Query("SELECT 1; COMMIT")});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().sqlstate, "42601");
  EXPECT_TRUE(run(*queue, look("a")));
  EXPECT_EQ(number(kForeignRows), 0);
}

TEST_P(EveryQueue, GivesAFailureToItsOwnJobOnly) {
  const auto queue = this->queue();
  std::vector<Job> jobs;
  for (int i = 0; i < 100; ++i) {
    if (i % 10 == 0) {
      jobs.push_back({as("b"), pg::Query("SELECT 1 / (id - id) FROM notes")});
    } else {
      jobs.push_back({as("c"), pg::Query("UPDATE notes SET version = version + 1 WHERE id = 2")});
    }
  }
  const auto results = run_all(*queue, std::move(jobs));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i % 10 == 0) {
      ASSERT_FALSE(results[i]);
      EXPECT_EQ(results[i].error().sqlstate, "22012");
    } else {
      EXPECT_TRUE(results[i]) << results[i].error().message;
    }
  }
  EXPECT_EQ(number("SELECT version FROM notes WHERE tenant = 'c' AND id = 2"), 90);
  EXPECT_EQ(identities_left(*queue), 0);
}

TEST_P(EveryQueue, KeepsTheOrderOfACallersJobs) {
  const auto queue = this->queue();
  std::vector<Job> jobs;
  for (int n = 0; n < 60; ++n) {
    for (const std::uint64_t caller : {1U, 2U, 3U}) {
      jobs.push_back(log("a", caller, n));
      jobs.push_back(log("b", caller, n));
    }
  }
  for (const auto& result : run_all(*queue, std::move(jobs))) {
    EXPECT_TRUE(result) << result.error().message;
  }
  EXPECT_EQ(number("SELECT count(*) FROM log"), 360);
  EXPECT_EQ(number(kOutOfOrder), 0);
  sql("INSERT INTO log (tenant, caller, n) VALUES ('a', 1, 5)");
  EXPECT_EQ(number(kOutOfOrder), 1) << "the count itself must be able to go red";
}

TEST_P(EveryQueue, CountsItsWork) {
  const auto queue = this->queue();
  const pg::Query query("SELECT id FROM notes", {}, "ids");
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(run(*queue, {as("a"), query}));
  const auto before = queue->counters();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(run(*queue, {as("a"), query}));
  const auto after = queue->counters();
  const bool is_serial = GetParam() == Subject::kSerial;
  EXPECT_EQ(after.round_trips - before.round_trips, is_serial ? 50U : 10U);
  EXPECT_EQ(after.statements - before.statements, is_serial ? 50U : 30U);
  EXPECT_EQ(after.commits - before.commits, 0U) << "a read";
  EXPECT_EQ(after.errors, 0U);
}

TEST_P(EveryQueue, RunsUnpreparedThroughAPooler) {
  start_pooler(1);
  const auto queue = this->queue();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(column(run(*queue, {as("a"), pg::Query("SELECT id FROM notes", {}, "ids")})), "1");
  }
  EXPECT_EQ(queue->counters().prepares, 0U);
  EXPECT_EQ(
      column(run(*queue, {as("a"), pg::Query("SELECT count(*) FROM pg_prepared_statements")})),
      "0");
}

TEST_P(EveryQueue, SharesAServerConnectionWithOtherQueues) {
  start_pooler(1);
  const auto one = this->queue();
  const auto other = this->queue();
  std::vector<asio::awaitable<Result<Answers>>> works;
  for (int i = 0; i < 100; ++i) {
    works.push_back(one->run(look(i % 2 == 0 ? "a" : "b")));
    works.push_back(other->run(look(i % 3 == 0 ? "c" : "a")));
  }
  for (const auto& answers : loop_.run_all(std::move(works))) EXPECT_TRUE(answers);
  EXPECT_EQ(number("SELECT count(*) FROM seen"), 200);
  EXPECT_EQ(number(kForeignRows), 0);
  EXPECT_EQ(identities_behind_the_pooler(), 0);
}

INSTANTIATE_TEST_SUITE_P(Subjects, EveryQueue, kSubjects, subject_name);

class QueueTest : public RlsTest {};

TEST_F(QueueTest, RefusesARoleThatRowLevelSecurityDoesNotBind) {
  Config superuser = config(Subject::kPool);
  superuser.connection.dsn = schema_->dsn();
  const auto refused = loop_.run(Queue::open(superuser));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kRefused);
  EXPECT_THAT(refused.error().message, HasSubstr("superuser or has BYPASSRLS"));
  sql("ALTER ROLE " + role_->name() + " BYPASSRLS");
  EXPECT_EQ(loop_.run(Queue::open(config(Subject::kPool))).error().code, Errc::kRefused);
}

TEST_F(QueueTest, RefusesAConnectionThatStartsWithAnIdentityUnlessItIsPooled) {
  sql("ALTER ROLE " + role_->name() + " SET plimsoll.tenant = 'b'");
  const auto refused = loop_.run(Queue::open(config(Subject::kPool)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kRefused);
  EXPECT_THAT(refused.error().message, HasSubstr("starts with an identity"));
  // A pooler may hand out a session that others used. No job reads what they left, and the first
  // one wipes it.
  start_pooler(1);
  const auto queue = open(config(Subject::kPipelined));
  EXPECT_EQ(identities_left(*queue), 1);
  EXPECT_FALSE(run(*queue, {as("c"), pg::Query("SELECT 1 / 0")}));
  EXPECT_TRUE(run(*queue, look("a")));
  EXPECT_EQ(number(kForeignRows), 0);
  EXPECT_EQ(identities_left(*queue), 0);
}

TEST_F(QueueTest, RefusesCountsOfNothing) {
  Config none = config(Subject::kPool);
  none.connections = 0;
  EXPECT_EQ(loop_.run(Queue::open(none)).error().code, Errc::kInvalidArgument);
  Config flat = config(Subject::kPool);
  flat.depth = 0;
  EXPECT_EQ(loop_.run(Queue::open(flat)).error().code, Errc::kInvalidArgument);
}

TEST_F(QueueTest, SpreadsCallersOverItsConnections) {
  Config shallow = config(Subject::kPool);
  shallow.depth = 1;
  const auto queue = open(shallow);
  std::vector<Job> jobs;
  for (std::uint64_t caller = 0; caller < 2; ++caller) {
    jobs.emplace_back(as("a"), pg::Query("SELECT pg_backend_pid(), pg_sleep(0.2)"), caller);
  }
  const auto results = run_all(*queue, std::move(jobs));
  EXPECT_NE(column(results[0]), column(results[1]));
}

}  // namespace
}  // namespace plimsoll::rls
