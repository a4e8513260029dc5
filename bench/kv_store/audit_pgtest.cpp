// Negative controls of the counts that the cases judge by: each protection is taken out of the
// library's SQL once, and the count that speaks of it goes red. With the statements as they are all
// stay 0.
#include <gmock/gmock.h>

#include <optional>

#include "bench/kv_store/audited_test.hpp"
#include "fixtures/postgres/client.hpp"
#include "lib/kv_store/postgres_store.hpp"

namespace plimsoll::bench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;

class KvAudit : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = fixtures::Infra::instance().postgres();
    ASSERT_TRUE(server) << server.error().message;
    auto stage = Stage::on(*server, Stock{2, 100, 64});
    ASSERT_TRUE(stage) << stage.error().message;
    stage_ = std::move(*stage);
    auto caller = Caller::open(*stage_);
    ASSERT_TRUE(caller) << caller.error().message;
    caller_ = std::move(*caller);
  }
  /// The stage's store, with SQL of its own.
  std::unique_ptr<kv::PostgresStore> store(kv::Statements statements) {
    kv::PostgresConfig config;
    config.connection = pg::Config(stage_->where());
    auto made = kv::PostgresStore::make(caller_->executor(), config, std::move(statements));
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
  }
  kv::Statements statements() const {
    return dynamic_cast<const kv::PostgresStore&>(caller_->store()).statements();
  }
  static void change(kv::Statement& statement, std::string_view part, std::string_view by) {
    const auto at = statement.sql.find(part);
    if (at == std::string::npos) throw std::runtime_error("not there: " + std::string(part));
    statement.sql.replace(at, part.size(), by);
    statement.name.clear();
  }
  std::map<std::string, std::int64_t> red_after(kv::Store& store, const Task& task, int steps,
                                                std::size_t callers = 1) {
    Audited audited(*stage_, store);
    audited.run(*caller_, task, steps, callers);
    return audited.red();
  }

  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Caller> caller_;
};

TEST_F(KvAudit, IsGreenWhereNothingIsTakenOut) {
  for (const Act act : {Act::kSet, Act::kGetHit, Act::kGetMiss, Act::kCas, Act::kBatchSet,
                        Act::kBatchGet, Act::kMixed, Act::kErase}) {
    ASSERT_TRUE(stage_->refill());
    EXPECT_THAT(red_after(caller_->store(), Task{act, 5}, 16, 8), IsEmpty()) << name(act);
  }
}

TEST_F(KvAudit, SeesUpdatesThatCompareAndSetLost) {
  auto sql = statements();
  change(sql.swap, "e.version = $5::bigint", "$5::bigint > 0");
  auto weak = store(sql);
  EXPECT_THAT(red_after(*weak, Task{Act::kCas, 1, 1}, 20, 8),
              Contains(Pair("lost_updates", Gt(0))));
}

TEST_F(KvAudit, SeesAnAcknowledgedSetThatIsNotThere) {
  auto sql = statements();
  // The answer to a write that did not take place.
  change(sql.set, "RETURNING 1::bigint, e.version", "RETURNING 1::bigint, e.version + 1");
  auto weak = store(sql);
  EXPECT_THAT(red_after(*weak, Task{Act::kSet}, 1), ElementsAre(Pair("acknowledged_lost", 1)));
}

TEST_F(KvAudit, SeesAnEraseThatWasAcknowledgedAndNotDone) {
  auto sql = statements();
  change(sql.erase, "e.key = $2", "e.key = $2 || 'x'");
  auto weak = store(sql);
  EXPECT_THAT(red_after(*weak, Task{Act::kErase}, 3),
              ElementsAre(Pair("acknowledged_lost", 3), Pair("wrong_reads", 3)));
}

TEST_F(KvAudit, SeesAWriteThatNobodyWasToldOf) {
  auto client = fixtures::Client::connect(stage_->where());
  ASSERT_TRUE(client) << client.error().message;
  Audited audited(*stage_, caller_->store());
  ASSERT_TRUE(
      client->query("UPDATE entries SET version = nextval('versions') WHERE key = "
                    "'1000001' AND tenant = '1'"));
  EXPECT_THAT(audited.red(), ElementsAre(Pair("unexplained_writes", 1)));
  ASSERT_TRUE(client->query("INSERT INTO entries VALUES ('9', 'k', '9/k/0/', 1)"));
  EXPECT_THAT(audited.red(), Contains(Pair("entries_unaccounted", 1)));
}

TEST_F(KvAudit, SeesReadsOfAnotherTenant) {
  auto sql = statements();
  change(sql.get, "e.tenant = $1", "e.tenant <> $1");
  auto weak = store(sql);
  EXPECT_THAT(red_after(*weak, Task{Act::kGetHit}, 10),
              ElementsAre(Pair("cross_tenant_reads", 10)));
}

TEST_F(KvAudit, SeesWritesToAnotherTenant) {
  auto sql = statements();
  change(sql.set, "VALUES ($1, $2", "VALUES (CASE $1 WHEN '1' THEN '2' ELSE '1' END, $2");
  auto weak = store(sql);
  EXPECT_THAT(red_after(*weak, Task{Act::kSet}, 10), Contains(Key("misplaced_values")));
}

TEST_F(KvAudit, SeesAHitThatIsAMissAndTheOtherWayRound) {
  auto sql = statements();
  change(sql.get, "e.key = $2", "e.key = 'm' || substr($2, 2)");
  auto weak = store(sql);
  EXPECT_THAT(red_after(*weak, Task{Act::kGetHit}, 10), ElementsAre(Pair("wrong_reads", 10)));
  sql = statements();
  change(sql.get, "e.key = $2", "e.key = '1' || substr($2, 2)");
  weak = store(sql);
  EXPECT_THAT(red_after(*weak, Task{Act::kGetMiss}, 10), ElementsAre(Pair("wrong_reads", 10)));
}

}  // namespace
}  // namespace plimsoll::bench
