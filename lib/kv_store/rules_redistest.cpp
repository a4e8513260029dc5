// The rules that hold for every subject, on Redis.
#include "lib/kv_store/database_redistest.hpp"
#include "lib/kv_store/rules_test.hpp"

namespace plimsoll::kv {
namespace {

class OnRedis : public Bench {
 public:
  Store& open() override {
    keys_.emplace();
    opened_.emplace(loop_, keys_->url(), RedisConfig{keys_->prefix()});
    return opened_->store();
  }

 private:
  std::optional<Keyspace> keys_;
  std::optional<Opened> opened_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, StoreRules, OnRedis);

}  // namespace
}  // namespace plimsoll::kv
