// Negative controls: each protection is taken out of the SQL once, and the harm is seen. What the
// other tests prove of the statements as they are, is thereby theirs.
#include <algorithm>
#include <thread>

#include "lib/kv_store/database_pgtest.hpp"

namespace plimsoll::kv {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class Control : public PostgresTest {
 protected:
  std::vector<std::string> keys(Store& store, const std::string& prefix) {
    std::vector<std::string> all;
    for (const auto& entry : good(store.list("acme", prefix, 100)).entries) {
      all.push_back(entry.key);
    }
    return all;
  }
  /// A set_many of the keys k1 to k3, in their order or backwards.
  std::string set_many(bool backwards) const {
    return "PREPARE m AS " + statements().set_many.sql + "; EXECUTE m('{acme,acme,acme}', '" +
           (backwards ? "{k3,k2,k1}" : "{k1,k2,k3}") +
           "', '{v,v,v}', '{NULL,NULL,NULL}', '{1,1,1}')";
  }
};

TEST_F(Control, WithoutTheVersionInItsConditionTwoWritersLoseAnUpdate) {
  auto changed = statements();
  changed.swap = with(changed.swap, "e.version = $5::bigint", "$5::bigint > 0");
  auto store = make(changed);
  const auto version = good(store->set("acme", Write("k", "0")));
  EXPECT_TRUE(run(store->compare_and_set("acme", Write("k", "1"), version)));
  EXPECT_TRUE(run(store->compare_and_set("acme", Write("k", "1"), version))) << "still protected";
}

TEST_F(Control, WithVersionsFromTheRowAnOldReaderOverwritesANewEntry) {
  auto changed = statements();
  const std::string next = "nextval('\"" + db_.schema() + "\".versions')";
  changed.set = with(changed.set, "version = " + next, "version = e.version + 1");
  changed.set = with(changed.set, next, "1");
  auto store = make(changed);
  const auto old = good(store->set("acme", Write("k", "one")));
  good(store->erase("acme", "k"));
  good(store->set("acme", Write("k", "another")));
  EXPECT_TRUE(run(store->compare_and_set("acme", Write("k", "x"), old)))
      << "no ABA to protect from";
  // As it is, no version comes twice.
  const auto first = good(store_->set("acme", Write("j", "one")));
  good(store_->erase("acme", "j"));
  good(store_->set("acme", Write("j", "another")));
  EXPECT_EQ(run(store_->compare_and_set("acme", Write("j", "x"), first)).error().code,
            Errc::kConflict);
}

TEST_F(Control, WithALanguagesCollationAPrefixIsNoRange) {
  db_.sql("DROP TABLE entries");
  if (db_.sql("SELECT count(*) FROM pg_collation WHERE collname = 'und-x-icu'") != "1") {
    GTEST_SKIP() << "this server has no ICU collation to show it with";
  }
  auto changed = statements();
  changed.ddl = with(changed.ddl, "COLLATE \"C\"", "COLLATE \"und-x-icu\"");
  changed.set_many = with(changed.set_many, "COLLATE \"C\"", "COLLATE \"und-x-icu\"");
  auto other = make(changed);
  ASSERT_TRUE(run(other->install()));
  for (const char* key : {"a:1", "a:2", "a", "A:3", "b"}) good(other->set("acme", Write(key, "v")));
  EXPECT_NE(keys(*other, "a:"), (std::vector<std::string>{"a:1", "a:2"}));
}

TEST_F(Control, LikeTakesAPrefixForAPattern) {
  auto changed = statements();
  changed.list =
      with(changed.list, "e.key >= $2 AND e.key < $3", "e.key LIKE $2 || '%' AND $3::text <> ''");
  auto other = make(changed);
  for (const char* key : {"a_1", "ab1", "a%1"}) good(other->set("acme", Write(key, "v")));
  EXPECT_THAT(keys(*other, "a_"), ElementsAre("a%1", "a_1", "ab1"));
  EXPECT_THAT(keys(*store_, "a_"), ElementsAre("a_1"));
}

TEST_F(Control, WithoutTheTenantInItsConditionAGetReadsAnothers) {
  auto changed = statements();
  changed.get = with(changed.get, "e.tenant = $1", "$1::text <> ''");
  auto other = make(changed);
  good(other->set("acme", Write("k", "theirs")));
  EXPECT_TRUE(good(other->get("evil", "k")));
  EXPECT_FALSE(good(store_->get("evil", "k")));
}

TEST_F(Control, WithoutTheClockInItsConditionAGetReadsWhatIsOver) {
  db_.sql("INSERT INTO entries VALUES ('acme', 'k', 'v', 1, now() - interval '1 second')");
  auto changed = statements();
  changed.get =
      with(changed.get, "(e.expires_at IS NULL OR e.expires_at > clock_timestamp())", "true");
  EXPECT_TRUE(good(make(changed)->get("acme", "k")));
  EXPECT_FALSE(good(store_->get("acme", "k"))) << "it still lies there, and must not be seen";
}

// One statement of two writers holds what the other wants next, whatever Postgres does about it.
TEST_F(Control, RowsAreLockedInTheOrderOfTheirPlacesWhichIsWhatKeepsBatchesFromDeadlock) {
  for (int i = 1; i <= 3; ++i) good(store_->set("acme", Write("k" + std::to_string(i), "v")));
  auto blocker = fixtures::Client::connect(db_.dsn());
  ASSERT_TRUE(blocker);
  ASSERT_TRUE(blocker->query("BEGIN; UPDATE entries SET value = 'held' WHERE key = 'k2'"));
  const auto holds_while_waiting = [&](bool backwards) {
    std::thread writer([&, sql = set_many(backwards)] {
      auto client = fixtures::Client::connect(db_.dsn());
      ASSERT_TRUE(client);
      (void)client->query("SET statement_timeout = '20s'; SET application_name = 'kv_writer'");
      (void)client->query("BEGIN; " + sql);
    });
    EXPECT_TRUE(
        db_.becomes_true("EXISTS (SELECT FROM pg_stat_activity WHERE application_name = "
                         "'kv_writer' AND wait_event_type = 'Lock')"));
    // Which of the others it has locked: one that NOWAIT does not get.
    std::string held;
    for (const char* key : {"k1", "k3"}) {
      auto probe = fixtures::Client::connect(db_.dsn());
      EXPECT_TRUE(probe);
      const auto got = probe->query(std::string("SELECT FROM entries WHERE key = '") + key +
                                    "' FOR UPDATE NOWAIT");
      if (!got) held += key;
    }
    EXPECT_EQ(db_.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                      "application_name = 'kv_writer'"),
              "1");
    writer.join();
    return held;
  };
  EXPECT_EQ(holds_while_waiting(false), "k1");
  EXPECT_EQ(holds_while_waiting(true), "k3") << "the order given is not the order of locks";
}

TEST_F(Control, OneStatementRefusesAKeyTwiceWhichIsWhyBatchesAreFolded) {
  const auto rows = db_.sql(
      "DO $$ BEGIN INSERT INTO entries SELECT 'acme', 'k', 'v', g, NULL FROM generate_series(1, 2) "
      "g ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value; RAISE EXCEPTION 'taken'; "
      "EXCEPTION WHEN cardinality_violation THEN NULL; END $$");
  EXPECT_EQ(rows, "");
}

}  // namespace
}  // namespace plimsoll::kv
