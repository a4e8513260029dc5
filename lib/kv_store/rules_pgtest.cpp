// The rules that hold for every subject, on Postgres: direct and through the pooler.
#include <optional>

#include "lib/kv_store/database_pgtest.hpp"
#include "lib/kv_store/rules_test.hpp"

namespace plimsoll::kv {
namespace {

class Direct : public Bench {
 public:
  Store& open() override {
    db_.emplace();
    auto made = PostgresStore::make(loop_.executor(), config());
    if (!made) throw std::runtime_error(made.error().message);
    store_ = std::move(*made);
    const auto installed = loop_.run(store_->install());
    if (!installed) throw std::runtime_error(installed.error().message);
    return *store_;
  }

 protected:
  virtual PostgresConfig config() { return db_->config(); }

  std::optional<Database> db_;
  std::unique_ptr<PostgresStore> store_;
};

class Pooled : public Direct {
  PostgresConfig config() override {
    const auto pooler = fixtures::Infra::instance().pooler();
    if (!pooler) throw std::runtime_error(pooler.error().message);
    PostgresConfig config = db_->config();
    config.connection = pg::Config(pooler->dsn);
    config.connection.pooled = true;
    return config;
  }
};

using Subjects = ::testing::Types<Direct, Pooled>;
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, StoreRules, Subjects);

}  // namespace
}  // namespace plimsoll::kv
