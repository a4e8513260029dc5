// The counts that the cases judge by, on Redis: green as it is, red where a protection is taken
// out.
#include <gmock/gmock.h>

#include "bench/kv_store/audited_test.hpp"
#include "fixtures/redis/client.hpp"
#include "lib/kv_store/redis_store.hpp"

namespace plimsoll::bench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;

class KvRedisAudit : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = fixtures::Infra::instance().redis();
    ASSERT_TRUE(server) << server.error().message;
    url_ = server->url;
    auto stage = Stage::on(*server, Stock{2, 100, 64});
    ASSERT_TRUE(stage) << stage.error().message;
    stage_ = std::move(*stage);
    auto caller = Caller::open(*stage_);
    ASSERT_TRUE(caller) << caller.error().message;
    caller_ = std::move(*caller);
  }
  const kv::RedisStore& base() const {
    return dynamic_cast<const kv::RedisStore&>(caller_->store());
  }
  /// The stage's store, with a script of its own in which `part` is replaced.
  std::unique_ptr<kv::RedisStore> store(redis::Script kv::RedisScripts::*which,
                                        std::string_view part, std::string_view by) {
    auto scripts = kv::redis_scripts();
    std::string text = (scripts.*which).text();
    const auto at = text.find(part);
    if (at == std::string::npos) throw std::runtime_error("not there: " + std::string(part));
    scripts.*which = redis::Script(text.replace(at, part.size(), by));
    auto made = caller_->run(kv::RedisStore::open(*caller_->opened().connection,
                                                  kv::RedisConfig{base().keys().prefix}, scripts));
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
  }
  std::map<std::string, std::int64_t> red_after(kv::Store& store, const Task& task, int steps,
                                                std::size_t callers = 1) {
    Audited audited(*stage_, store);
    audited.run(*caller_, task, steps, callers);
    return audited.red();
  }

  std::string url_;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Caller> caller_;
};

TEST_F(KvRedisAudit, IsGreenWhereNothingIsTakenOut) {
  for (const Act act : {Act::kSet, Act::kGetHit, Act::kGetMiss, Act::kCas, Act::kBatchSet,
                        Act::kBatchGet, Act::kMixed, Act::kErase}) {
    ASSERT_TRUE(stage_->refill());
    EXPECT_THAT(red_after(caller_->store(), Task{act, 5}, 16, 8), IsEmpty()) << name(act);
  }
}

TEST_F(KvRedisAudit, SeesUpdatesThatCompareAndSetLost) {
  auto weak = store(&kv::RedisScripts::write, "then return false end", "then end");
  EXPECT_THAT(red_after(*weak, Task{Act::kCas, 1, 1}, 20, 8),
              Contains(Pair("lost_updates", Gt(0))));
}

TEST_F(KvRedisAudit, SeesASetThatWasAcknowledgedAndNotDone) {
  auto weak = store(&kv::RedisScripts::write, "redis.call('SET', KEYS[3 + n], versions[n]",
                    "redis.call('ECHO', versions[n]");
  EXPECT_THAT(red_after(*weak, Task{Act::kSet}, 1), ElementsAre(Pair("acknowledged_lost", 1)));
}

TEST_F(KvRedisAudit, SeesAnEraseThatWasAcknowledgedAndNotDone) {
  auto weak = store(&kv::RedisScripts::erase, "redis.call('DEL', KEYS[1])", "1");
  EXPECT_THAT(red_after(*weak, Task{Act::kErase}, 3), Contains(Pair("acknowledged_lost", 3)));
}

TEST_F(KvRedisAudit, SeesWritesToAnotherTenantAndReadsOfThem) {
  auto client = fixtures::RedisClient::connect(url_);
  ASSERT_TRUE(client) << client.error().message;
  Audited audited(*stage_, caller_->store());
  for (std::size_t place = 0; place < 100; ++place) {
    const auto& keys = base().keys();
    const auto key = key_of(stage_->stock(), place);
    ASSERT_TRUE(client->command({"COPY", keys.entry("2", key), keys.entry("1", key), "REPLACE"}));
  }
  audited.run(*caller_, Task{Act::kGetHit}, 20);
  EXPECT_THAT(audited.red(), ::testing::AllOf(Contains(Pair("misplaced_values", 100)),
                                              Contains(Key("cross_tenant_reads"))));
}

}  // namespace
}  // namespace plimsoll::bench
