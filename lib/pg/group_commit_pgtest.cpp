#include "lib/pg/group_commit.hpp"

#include <boost/asio/steady_timer.hpp>
#include <map>
#include <set>

#include "fixtures/postgres/local.hpp"
#include "lib/core/rng.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/pg/server_pgtest.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A set with a version that counts sets, also those that were folded.
constexpr std::string_view kUpsert = R"sql(
WITH input AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS i (k, v, n, ordinal)
), written AS (
  INSERT INTO kv AS t (k, v, version) SELECT k, v, n FROM input ORDER BY ordinal
  ON CONFLICT (k) DO UPDATE SET v = excluded.v, version = t.version + excluded.version
  RETURNING t.k, t.version
)
SELECT i.ordinal, w.version FROM input i JOIN written w USING (k))sql";

BatchWriterPtr upserts() {
  return one_statement([](std::span<const BatchSlot> slots) {
    return Query(std::string(kUpsert), array_params(slots), "upsert");
  });
}

BatchWriterPtr inserts() {
  return statements_of_each([](const BatchSlot& slot) {
    std::vector<Query> queries;
    queries.emplace_back("INSERT INTO steps (run, step) VALUES ($1, $2) RETURNING id",
                         slot.item().values, "insert");
    return queries;
  });
}

BatchItem set(const std::string& key, std::string value) {
  return BatchItem(key, params(key, std::move(value)));
}
BatchItem step(int run, int number) {
  return BatchItem("run" + std::to_string(run), params(run, number));
}

class GroupCommitPgTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (HasFatalFailure()) return;
    plain().text(
        "CREATE TABLE kv (k text PRIMARY KEY, v text CHECK (v <> 'bad'), version bigint NOT NULL);"
        "CREATE TABLE steps (run int, step int CHECK (step >= 0), id bigserial,"
        "  UNIQUE (run, step) DEFERRABLE INITIALLY DEFERRED)");
    connection_ = connect();
  }
  GroupCommit commit(BatchWriterPtr writer, GroupCommitConfig config = {}) {
    return GroupCommit(loop_.get_executor(), std::move(writer), {lane_of(*connection_)}, config);
  }
  using Works = std::vector<asio::awaitable<Result<BatchAnswer>>>;

  std::unique_ptr<Connection> connection_;
};

TEST_F(GroupCommitPgTest, ManySetsAreOneStatementAndOneCommit) {
  auto group = commit(upserts());
  Works works;
  for (int i = 0; i < 100; ++i) works.push_back(group.submit(set("k" + std::to_string(i), "v")));
  const auto answers = run_all(std::move(works));
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->integer(1), 1);
  }
  EXPECT_EQ(connection_->counters().statements, 1U);
  EXPECT_EQ(connection_->counters().round_trips, 1U);
  EXPECT_EQ(plain().text("SELECT count(*) || ' ' || count(DISTINCT xmin::text) FROM kv"), "100 1");
}

TEST_F(GroupCommitPgTest, TheLastSetOfAKeyIsStoredAndEachCallerCanTellItsVersion) {
  auto group = commit(upserts());
  Works works;
  for (int i = 1; i <= 5; ++i) works.push_back(group.submit(set("hot", std::to_string(i))));
  const auto answers = run_all(std::move(works));
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(answers[i]) << answers[i].error().message;
    const auto version = *answers[i]->integer(1) - static_cast<std::int64_t>(answers[i]->newer());
    EXPECT_EQ(version, static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_EQ(plain().text("SELECT v || ' ' || version FROM kv"), "5 5");
}

TEST_F(GroupCommitPgTest, APoisonedSetFailsAloneInAMultiRowStatement) {
  auto group = commit(upserts());
  Works works;
  for (int i = 0; i < 50; ++i) {
    works.push_back(group.submit(set("k" + std::to_string(i), i == 17 || i == 40 ? "bad" : "v")));
  }
  const auto answers = run_all(std::move(works));
  for (std::size_t i = 0; i < 50; ++i) {
    if (i == 17 || i == 40) {
      EXPECT_EQ(answers[i].error().sqlstate, "23514");
    } else {
      EXPECT_TRUE(answers[i]) << answers[i].error().message;
    }
  }
  EXPECT_EQ(plain().text("SELECT count(*) || ' ' || sum(version) FROM kv"), "48 48");
}

TEST_F(GroupCommitPgTest, ANulByteInOneItemIsThatItemsError) {
  using namespace std::string_literals;
  auto group = commit(upserts());
  Works works;
  works.push_back(group.submit(set("a", "fine")));
  works.push_back(group.submit(set("b", "not\0so"s)));
  works.push_back(group.submit(set("c", "fine")));
  const auto answers = run_all(std::move(works));
  EXPECT_TRUE(answers[0].has_value() && answers[2].has_value());
  EXPECT_EQ(answers[1].error().code, Errc::kInvalidArgument);
  EXPECT_THAT(answers[1].error().message, HasSubstr("NUL"));
}

TEST_F(GroupCommitPgTest, StepsOfOneRunKeepTheirOrderInAPipeline) {
  GroupCommitConfig config;
  config.batch.same_key = SameKey::kKeep;
  auto group = commit(inserts(), config);
  Works works;
  for (int i = 0; i < 60; ++i) works.push_back(group.submit(step(i % 3, i / 3)));
  const auto answers = run_all(std::move(works));
  for (const auto& answer : answers) ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(
      plain().text("SELECT count(*) FROM (SELECT step, lag(step) OVER (PARTITION BY run ORDER "
                   "BY id) AS before FROM steps) s WHERE step <= before"),
      "0");
  EXPECT_EQ(connection_->counters().commits, 1U);
  EXPECT_EQ(connection_->counters().round_trips, 1U);
}

TEST_F(GroupCommitPgTest, APoisonedStepFailsAloneAlsoWhenOnlyTheCommitTells) {
  GroupCommitConfig config;
  config.batch.same_key = SameKey::kKeep;
  auto group = commit(inserts(), config);
  Works works;
  for (int i = 0; i < 20; ++i) {
    const int number = i == 5 ? -1 : i == 12 ? 11 : i;  // A check; a deferred unique constraint.
    works.push_back(group.submit(step(1, number)));
  }
  const auto answers = run_all(std::move(works));
  EXPECT_EQ(answers[5].error().sqlstate, "23514");
  int unique = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    if (i == 5) continue;
    if (answers[i]) continue;
    EXPECT_EQ(answers[i].error().sqlstate, "23505") << i;
    EXPECT_TRUE(i == 11 || i == 12);
    ++unique;
  }
  EXPECT_EQ(unique, 1);
  EXPECT_EQ(plain().text("SELECT count(*) || ' ' || count(DISTINCT step) FROM steps"), "18 18");
}

TEST_F(GroupCommitPgTest, ALockedRowIsATimeoutOfTheBatchWhoseOutcomeIsSaidToBeUnknown) {
  GroupCommitConfig config;
  config.statement_timeout = 100ms;
  auto group = commit(upserts(), config);
  ASSERT_TRUE(run(group.submit(set("held", "v"))));
  plain().text("BEGIN; UPDATE kv SET v = 'mine' WHERE k = 'held'");
  Works works;
  works.push_back(group.submit(set("held", "theirs")));
  works.push_back(group.submit(set("beside", "v")));
  const auto answers = run_all(std::move(works));
  for (const auto& answer : answers) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::kTimeout);
    EXPECT_TRUE(is_outcome_unknown(answer.error()));
  }
  plain().text("ROLLBACK");
  auto patient = commit(upserts());
  const auto again = run(patient.submit(set("held", "again")));
  EXPECT_TRUE(again) << again.error().message;
  EXPECT_EQ(plain().text("SELECT v FROM kv WHERE k = 'held'"), "again");
}

TEST_F(GroupCommitPgTest, ASerializationFailureReachesAllOfItsBatchAndIsNotRepeated) {
  plain().text(
      "CREATE FUNCTION deny() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN RAISE EXCEPTION 'try again' USING ERRCODE = '40001'; END $$;"
      "CREATE TRIGGER deny BEFORE INSERT ON kv FOR EACH ROW WHEN (new.k = 'deny') "
      "EXECUTE FUNCTION deny()");
  auto group = commit(upserts());
  Works works;
  for (const char* key : {"a", "deny", "z"}) works.push_back(group.submit(set(key, "v")));
  const auto answers = run_all(std::move(works));
  for (const auto& answer : answers) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::kConflict);
    EXPECT_EQ(answer.error().sqlstate, "40001");
  }
  EXPECT_EQ(connection_->counters().statements, 1U);
  EXPECT_EQ(plain().text("SELECT count(*) FROM kv"), "0");
}

// Two group commits write the same keys in opposite orders, again and again.
TEST_F(GroupCommitPgTest, TwoBatchesOverTheSameKeysDoNotDeadlock) {
  auto other = connect();
  auto group = commit(upserts());
  GroupCommit second(loop_.get_executor(), upserts(), {lane_of(*other)});
  for (int round = 0; round < 20; ++round) {
    Works works;
    for (int i = 0; i < 40; ++i) {
      works.push_back(group.submit(set("k" + std::to_string(i), "one")));
      works.push_back(second.submit(set("k" + std::to_string(39 - i), "two")));
    }
    for (const auto& answer : run_all(std::move(works))) {
      ASSERT_TRUE(answer) << answer.error().message;
    }
  }
  EXPECT_EQ(plain().text("SELECT sum(version) FROM kv"), "1600");
}

TEST_F(GroupCommitPgTest, AKilledBackendLeavesNoCallerWithoutAnAnswerAndAPoolGoesOn) {
  PoolConfig pool_config;
  pool_config.connection = config();
  pool_config.size = 1;
  Pool pool(loop_.get_executor(), pool_config);
  GroupCommit group(loop_.get_executor(), upserts(), {lane_of(pool)});
  plain().text(
      "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(600); "
      "RETURN new; END $$;"
      "CREATE TRIGGER die BEFORE INSERT ON kv FOR EACH ROW WHEN (new.k = 'die') "
      "EXECUTE FUNCTION die()");
  Works works;
  for (const char* key : {"a", "die", "z"}) works.push_back(group.submit(set(key, "v")));
  for (const auto& answer : run_all(std::move(works))) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::kUnavailable);
    EXPECT_TRUE(is_outcome_unknown(answer.error())) << answer.error().message;
  }
  const auto after = run(group.submit(set("a", "v")));
  EXPECT_TRUE(after) << after.error().message;
  EXPECT_EQ(plain().text("SELECT count(*) FROM kv"), "1");
}

TEST_F(GroupCommitPgTest, AClosedConnectionSaysThatNothingWasSent) {
  auto group = commit(upserts());
  connection_->close();
  const auto answer = run(group.submit(set("a", "v")));
  EXPECT_EQ(answer.error().code, Errc::kUnavailable);
  EXPECT_FALSE(is_outcome_unknown(answer.error()));
}

// What a caller was told.
struct Told {
  std::map<std::string, int> sure;     ///< Acknowledged steps.
  std::map<std::string, int> unknown;  ///< Steps whose outcome nobody knows.
};

asio::awaitable<Result<BatchAnswer>> caller(GroupCommit* group, int run, Rng draw, Told* told) {
  Result<BatchAnswer> last;
  for (int number = 0; number < 60; ++number) {
    const bool is_hasty = draw.below(4) == 0;
    const bool is_poison = draw.below(10) == 0;
    auto call =
        group->submit(step(run, is_poison ? -1 : number),
                      is_hasty ? Timeout(std::chrono::milliseconds(draw.below(3))) : Timeout(60s));
    last = co_await std::move(call);
    const std::string name = std::to_string(run) + ":" + std::to_string(number);
    if (last && is_poison) co_return fail(Errc::kInternal, "a poisoned item was acknowledged");
    if (last) {
      ++told->sure[name];
    } else if (is_outcome_unknown(last.error())) {
      ++told->unknown[name];
    } else if (!is_poison && last.error().code != Errc::kTimeout) {
      co_return last;
    }
  }
  co_return Result<BatchAnswer>(BatchAnswer());
}

// Callers that poison, that leave, and that stay, at random: what was acknowledged is there once,
// what was not is there at most once and only where the outcome was said to be unknown.
TEST_F(GroupCommitPgTest, AStormOfPoisonAndTimeoutsLosesAndDoublesNothing) {
  GroupCommitConfig config;
  config.batch.same_key = SameKey::kKeep;
  auto group = commit(inserts(), config);
  const Rng seed(7);
  Told told;
  Works works;
  for (int run = 0; run < 24; ++run) {
    works.push_back(caller(&group, run, seed.fork(static_cast<std::uint64_t>(run)), &told));
  }
  for (const auto& end : run_all(std::move(works))) ASSERT_TRUE(end) << end.error().message;
  EXPECT_GT(told.sure.size(), 100U);
  EXPECT_GT(group.counters().poisoned, 0U);
  ASSERT_TRUE(run(group.drain(1min)));

  std::multiset<std::string> stored;
  const std::string all = plain().text("SELECT string_agg(run || ':' || step, ' ') FROM steps");
  for (std::size_t at = 0; at < all.size();) {
    const auto end = std::min(all.find(' ', at), all.size());
    stored.insert(all.substr(at, end - at));
    at = end + 1;
  }
  for (const auto& [name, times] : told.sure) EXPECT_EQ(stored.count(name), 1U) << name;
  for (const auto& name : stored) {
    EXPECT_EQ(stored.count(name), 1U) << name;
    EXPECT_TRUE(told.sure.contains(name) || told.unknown.contains(name)) << name;
  }
}

// A server killed under writers: what was acknowledged survives.
TEST(GroupCommitCrash, KeepsEveryAcknowledgedItemThroughKillNine) {
  auto server = fixtures::LocalPostgres::start();
  ASSERT_TRUE(server) << server.error().message;
  Plain(server->dsn()).text("CREATE TABLE steps (run int, step int, id bigserial)");
  std::set<std::string> acknowledged;
  for (int cycle = 0; cycle < 3; ++cycle) {
    asio::io_context loop{1};
    PoolConfig pool_config;
    pool_config.connection = Config(server->dsn());
    pool_config.size = 1;
    Pool pool(loop.get_executor(), pool_config);
    GroupCommitConfig config;
    config.batch.same_key = SameKey::kKeep;
    GroupCommit group(loop.get_executor(), inserts(), {lane_of(pool)}, config);
    std::size_t total = 0;
    for (int run = 0; run < 8; ++run) {
      asio::co_spawn(
          loop,
          [](GroupCommit* to, int me, int from, std::set<std::string>* told,
             std::size_t* done) -> asio::awaitable<void> {
            for (int number = from;; ++number) {
              auto answer = co_await to->submit(step(me, number));
              if (!answer) co_return;
              told->insert(std::to_string(me) + ":" + std::to_string(number));
              ++*done;
            }
          }(&group, run, cycle * 1'000'000, &acknowledged, &total),
          [](const std::exception_ptr&) {});
    }
    const auto give_up = Clock::now() + 1min;
    while (total < 200 && Clock::now() < give_up) loop.run_for(5ms);
    ASSERT_GE(total, 200U);
    ASSERT_TRUE(server->kill9());
    loop.run_for(1min);  // Ends when every caller was told.
    ASSERT_TRUE(loop.stopped());
    const auto restarted = server->restart();
    ASSERT_TRUE(restarted) << restarted.error().message;
  }
  Plain sql(server->dsn());
  EXPECT_EQ(sql.text("SELECT count(*) - count(DISTINCT (run, step)) FROM steps"), "0");
  for (const auto& name : acknowledged) {
    const auto colon = name.find(':');
    ASSERT_EQ(sql.text("SELECT count(*) FROM steps WHERE run = " + name.substr(0, colon) +
                       " AND step = " + name.substr(colon + 1)),
              "1")
        << name;
  }
}

}  // namespace
}  // namespace plimsoll::pg
