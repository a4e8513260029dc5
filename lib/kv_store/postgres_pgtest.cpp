// What is special to the Postgres subject: commits, round trips, plans, pages.
#include <algorithm>

#include "lib/kv_store/database_pgtest.hpp"

namespace plimsoll::kv {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PostgresStoreTest : public PostgresTest {};

TEST_F(PostgresStoreTest, InstallingTwiceKeepsWhatIsThere) {
  good(store_->set("acme", Write("k", "v")));
  ASSERT_TRUE(run(store_->install()));
  EXPECT_EQ(db_.sql("SELECT count(*) FROM entries"), "1");
}

TEST_F(PostgresStoreTest, AGetIsOneStatementAndOneRoundTrip) {
  good(store_->get("acme", "warm"));
  const auto before = store_->counters();
  good(store_->get("acme", "k"));
  const auto after = store_->counters();
  EXPECT_EQ(after.statements - before.statements, 1U);
  EXPECT_EQ(after.round_trips - before.round_trips, 1U);
  EXPECT_EQ(after.prepares - before.prepares, 0U);
}

TEST_F(PostgresStoreTest, SetsOfManyCallersAreOneStatementAndOneCommit) {
  good(store_->set("acme", Write("warm", "v")));
  const auto before = store_->counters();
  std::vector<asio::awaitable<Result<Version>>> works;
  for (int i = 0; i < 100; ++i) {
    works.push_back(store_->set("t" + std::to_string(i % 3), Write("k" + std::to_string(i), "v")));
  }
  for (const auto& answer : loop_.run_all(std::move(works))) {
    ASSERT_TRUE(answer) << answer.error().message;
  }
  const auto after = store_->counters();
  EXPECT_EQ(after.statements - before.statements, 1U);
  EXPECT_EQ(after.round_trips - before.round_trips, 1U);
  EXPECT_EQ(db_.sql("SELECT count(*) || ' ' || count(DISTINCT xmin::text) FROM entries "
                    "WHERE key <> 'warm'"),
            "100 1");
}

TEST_F(PostgresStoreTest, SetsOfAHotKeyCostNoMoreCommitsThanOneOfIt) {
  good(store_->set("acme", Write("hot", "v")));
  const auto before = store_->counters();
  std::vector<asio::awaitable<Result<Version>>> works;
  for (int i = 0; i < 200; ++i) works.push_back(store_->set("acme", Write("hot", "v")));
  for (const auto& answer : loop_.run_all(std::move(works))) EXPECT_TRUE(answer);
  EXPECT_LE(store_->counters().statements - before.statements, 2U);
  EXPECT_EQ(store_->batches().folded, 199U);
}

TEST_F(PostgresStoreTest, TwoStoresThatWriteTheSameKeysInOppositeOrdersNeverDeadlock) {
  auto other = make();
  std::vector<Write> up;
  for (int i = 0; i < 100; ++i) up.emplace_back("k" + std::to_string(i), "v");
  const std::vector<Write> down(up.rbegin(), up.rend());
  for (int round = 0; round < 20; ++round) {
    std::vector<asio::awaitable<Result<std::vector<Version>>>> works;
    works.push_back(store_->set_all("acme", up));
    works.push_back(other->set_all("acme", down));
    for (const auto& answer : loop_.run_all(std::move(works))) {
      ASSERT_TRUE(answer) << answer.error().message;
    }
    std::vector<asio::awaitable<Result<Version>>> sets;
    for (std::size_t i = 0; i < up.size(); ++i) {
      sets.push_back(store_->set("acme", up[i]));
      sets.push_back(other->set("acme", down[i]));
    }
    for (const auto& answer : loop_.run_all(std::move(sets))) {
      ASSERT_TRUE(answer) << answer.error().message;
    }
    std::vector<asio::awaitable<Result<bool>>> erases;
    for (std::size_t i = 0; i < up.size(); ++i) {
      erases.push_back(store_->erase("acme", up[i].key));
      erases.push_back(other->erase("acme", down[i].key));
    }
    for (const auto& answer : loop_.run_all(std::move(erases))) {
      ASSERT_TRUE(answer) << answer.error().message;
    }
  }
  EXPECT_EQ(db_.sql("SELECT count(*) FROM entries"), "0");
}

TEST_F(PostgresStoreTest, CompareAndSetsAndErasesShareCommitsToo) {
  good(store_->erase("acme", "warm"));
  const auto before = store_->counters();
  std::vector<asio::awaitable<Result<Version>>> works;
  for (int i = 0; i < 50; ++i) {
    works.push_back(store_->compare_and_set("acme", Write("k" + std::to_string(i), "v"), kAbsent));
  }
  for (const auto& answer : loop_.run_all(std::move(works))) ASSERT_TRUE(answer);
  std::vector<asio::awaitable<Result<bool>>> erases;
  for (int i = 0; i < 50; ++i) erases.push_back(store_->erase("acme", "k" + std::to_string(i)));
  for (const auto& answer : loop_.run_all(std::move(erases))) EXPECT_TRUE(answer && *answer);
  EXPECT_EQ(store_->counters().commits - before.commits, 2U);
}

TEST_F(PostgresStoreTest, ASetWithoutATtlIsAHeapOnlyUpdate) {
  for (int i = 0; i < 40; ++i) good(store_->set("acme", Write("k", std::to_string(i))));
  store_.reset();  // A session tells its statistics when it ends, or some time later.
  EXPECT_TRUE(db_.becomes_true("pg_stat_get_tuples_updated('entries'::regclass) = 39"));
  // A page that is full takes one that is not.
  EXPECT_EQ(db_.sql("SELECT pg_stat_get_tuples_hot_updated('entries'::regclass) >= 35"), "t");
}

// Values that are stored out of line, too: what is compared is the row, and no index has the value.
TEST_F(PostgresStoreTest, ASetOfALargeValueIsAHeapOnlyUpdateToo) {
  const std::string large(200'000, 'v');
  for (int i = 0; i < 20; ++i) good(store_->set("acme", Write("k", std::to_string(i) + large)));
  store_.reset();
  EXPECT_TRUE(db_.becomes_true("pg_stat_get_tuples_updated('entries'::regclass) = 19"));
  EXPECT_EQ(db_.sql("SELECT pg_stat_get_tuples_hot_updated('entries'::regclass) >= 17"), "t");
}

TEST_F(PostgresStoreTest, ASetThatChangesATtlIsNotHeapOnlyAsTheDocumentationSays) {
  for (int i = 0; i < 20; ++i) good(store_->set("acme", Write("k", "v", 1h)));
  store_.reset();
  EXPECT_TRUE(db_.becomes_true("pg_stat_get_tuples_updated('entries'::regclass) = 19"));
  EXPECT_EQ(db_.sql("SELECT pg_stat_get_tuples_hot_updated('entries'::regclass)"), "0");
}

// What row-level security lets an index do: a range it does, LIKE it does not.
TEST_F(PostgresStoreTest, TheOperatorsOfAListLeakNothingAndLikeMay) {
  const auto leakproof = [&](const std::string& function) {
    return db_.sql("SELECT proleakproof FROM pg_proc WHERE oid = '" + function + "'::regprocedure");
  };
  for (const char* function : {"texteq(text,text)", "text_ge(text,text)", "text_lt(text,text)"}) {
    EXPECT_EQ(leakproof(function), "t") << function;
  }
  EXPECT_EQ(leakproof("textlike(text,text)"), "f");
}

TEST_F(PostgresStoreTest, AListReadsARangeOfThePrimaryKeyAndNoMore) {
  db_.sql(
      "INSERT INTO entries SELECT 'acme', 'k' || lpad(g::text, 6, '0'), 'v', g, NULL "
      "FROM generate_series(1, 20000) g");
  db_.sql("ANALYZE entries");
  db_.sql("SET plan_cache_mode = force_generic_plan");
  db_.sql("PREPARE page (text, text, text, bigint) AS " + statements().list.sql);
  const std::string plan = db_.sql(
      "SET client_min_messages = error; CREATE OR REPLACE FUNCTION plan_of(q text) RETURNS text "
      "LANGUAGE plpgsql AS $f$ DECLARE l text; all_of_it text := ''; BEGIN FOR l IN EXECUTE q LOOP "
      "all_of_it := all_of_it || l || E'\\n'; END LOOP; RETURN all_of_it; END $f$; "
      "SELECT plan_of('EXPLAIN (ANALYZE, COSTS off, TIMING off) EXECUTE page(''acme'', ''k0100'', "
      "''k0101'', 50)')");
  EXPECT_THAT(plan, AllOf(HasSubstr("Index Scan using entries_pkey"),
                          HasSubstr("Index Cond: ((tenant = $1) AND (key >= $2) AND (key < $3))"),
                          Not(HasSubstr("Sort")), HasSubstr("rows=50")));
}

TEST_F(PostgresStoreTest, ManyReadersReadTheSameEntries) {
  auto config = db_.config();
  config.readers = 3;
  auto store = make(config);
  good(store->set("acme", Write("k", "v")));
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(good(store->get("acme", "k")));
  EXPECT_EQ(store->connections(), 4U);
}

TEST_F(PostgresStoreTest, AStoreWithoutReadersOrWithABadSchemaIsRefused) {
  auto config = db_.config();
  config.readers = 0;
  EXPECT_EQ(PostgresStore::make(loop_.executor(), config).error().code, Errc::kInvalidArgument);
  config = db_.config();
  config.schema = "";
  EXPECT_EQ(PostgresStore::make(loop_.executor(), config).error().code, Errc::kInvalidArgument);
}

TEST_F(PostgresStoreTest, AServerThatAcknowledgesWithoutADiskIsRefused) {
  auto config = db_.config();
  config.connection.dsn =
      db_.dsn() + " options='-c synchronous_commit=off -c search_path=" + db_.schema() + "'";
  auto weak = make(config);
  const auto answer = run(weak->set("acme", Write("k", "v")));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kRefused);
  EXPECT_THAT(answer.error().message, HasSubstr("synchronous_commit = off"));
  EXPECT_EQ(db_.sql("SELECT count(*) FROM entries"), "0");
  config.allow_weak_durability = true;
  EXPECT_TRUE(run(make(config)->set("acme", Write("k", "v"))));
}

TEST_F(PostgresStoreTest, AWriteThatTheServerRefusesConcernsItsOwnKeyAlone) {
  db_.sql("ALTER TABLE entries ADD CHECK (value <> 'poison')");
  std::vector<asio::awaitable<Result<Version>>> works;
  for (int i = 0; i < 30; ++i) {
    works.push_back(store_->set("acme", Write("k" + std::to_string(i), i == 7 ? "poison" : "v")));
  }
  const auto answers = loop_.run_all(std::move(works));
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].has_value(), i != 7);
  EXPECT_EQ(answers[7].error().code, Errc::kRejected);
  EXPECT_EQ(db_.sql("SELECT count(*) FROM entries"), "29");
  std::vector<Write> batch;
  batch.emplace_back("new", "v");
  batch.emplace_back("bad", "poison");
  EXPECT_EQ(run(store_->set_all("acme", batch)).error().code, Errc::kRejected);
  EXPECT_EQ(db_.sql("SELECT count(*) FROM entries WHERE key = 'new'"), "0") << "not all or nothing";
}

TEST_F(PostgresStoreTest, MoreWritesThanMayWaitAreTurnedAwayAtOnce) {
  auto config = db_.config();
  config.commit.batch.max_waiting = 10;
  auto store = make(config);
  std::vector<asio::awaitable<Result<Version>>> works;
  for (int i = 0; i < 20; ++i) {
    works.push_back(store->set("acme", Write("k" + std::to_string(i), "v")));
  }
  const auto answers = loop_.run_all(std::move(works));
  EXPECT_EQ(std::ranges::count_if(answers, [](const auto& a) { return a.has_value(); }), 10);
  EXPECT_EQ(answers.back().error().code, Errc::kBusy);
  EXPECT_EQ(db_.sql("SELECT count(*) FROM entries"), "10");
}

TEST_F(PostgresStoreTest, ASweepPassesByWhatAWriterHolds) {
  db_.sql(
      "INSERT INTO entries SELECT 'acme', 'k' || g, 'v', g, now() - interval '1 hour' "
      "FROM generate_series(1, 5) g");
  db_.sql("BEGIN");
  db_.sql("SELECT FROM entries WHERE key = 'k3' FOR UPDATE");
  EXPECT_EQ(good(store_->sweep(10)), 4U);
  db_.sql("COMMIT");
  EXPECT_EQ(good(store_->sweep(10)), 1U);
}

TEST_F(PostgresStoreTest, AClosedStoreRefusesAndDrainAnswersWhatWasTaken) {
  std::vector<asio::awaitable<Result<Version>>> works;
  for (int i = 0; i < 5; ++i) {
    works.push_back(store_->set("acme", Write("k" + std::to_string(i), "v")));
  }
  for (const auto& answer : loop_.run_all(std::move(works))) EXPECT_TRUE(answer);
  ASSERT_TRUE(run(store_->drain(10s)));
  const auto late = run(store_->set("acme", Write("late", "v")));
  EXPECT_EQ(late.error().code, Errc::kUnavailable);
  EXPECT_EQ(db_.sql("SELECT count(*) FROM entries"), "5");
}

}  // namespace
}  // namespace plimsoll::kv
