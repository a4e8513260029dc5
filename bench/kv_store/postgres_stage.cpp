#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <optional>

#include "bench/kv_store/stage.hpp"
#include "fixtures/postgres/client.hpp"
#include "lib/kv_store/postgres_store.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::string_view kLook =
    "SELECT tenant, key, version, starts_with(value, tenant || '/' || key || '/'), "
    "split_part(value, '/', 3) FROM entries";

template <class Number>
Number number(const std::string& text) {
  Number value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The place of a tenant and a key that are named as ours are; nullopt else.
std::optional<std::size_t> place_of(const Stock& stock, const std::string& tenant,
                                    const std::string& key) {
  const auto row = number<std::size_t>(key) - kFirstKey;
  const auto place = (number<std::size_t>(tenant) - 1) * stock.keys + row;
  if (row >= stock.keys || place >= stock.places() || tenant_of(stock, place) != tenant ||
      key_of(stock, place) != key) {
    return std::nullopt;
  }
  return place;
}

class PostgresStage final : public Stage {
 public:
  PostgresStage(fixtures::Postgres server, Stock stock)
      : Stage(stock), server_(std::move(server)) {}

  Result<void> begin() {
    static std::atomic<int> count{0};
    auto schema = fixtures::Schema::create(server_, fmt::format("kv_{:03}", ++count));
    if (!schema) return fail(schema.error());
    schema_.emplace(std::move(*schema));
    auto sql = fixtures::Client::connect(schema_->dsn());
    if (!sql) return fail(sql.error());
    sql_.emplace(std::move(*sql));
    const auto statements = kv::statements_for(schema_->name());
    if (!statements) return fail(statements.error());
    if (auto made = sql_->query(statements->ddl); !made) return fail(made.error());
    return refill();
  }

  asio::awaitable<Result<OpenStore>> open(asio::any_io_executor executor) override {
    kv::PostgresConfig config;
    config.connection = pg::Config(schema_->dsn());
    config.schema = schema_->name();
    auto made = kv::PostgresStore::make(executor, std::move(config));
    if (!made) co_return fail(made.error());
    OpenStore opened;
    opened.store = std::move(*made);
    // Its connections are made now, and not in a measured operation.
    Result<std::optional<kv::Entry>> got = co_await opened.store->get("1", "k");
    if (!got) co_return fail(std::move(got.error()));
    Result<bool> erased = co_await opened.store->erase("1", "k");
    if (!erased) co_return fail(std::move(erased.error()));
    Result<std::size_t> swept = co_await opened.store->sweep(1);
    if (!swept) co_return fail(std::move(swept.error()));
    co_return opened;
  }

  Result<void> refill() override {
    auto filled = sql_->query(fill_sql(stock_));
    if (!filled) return fail(filled.error());
    return {};
  }

  Result<Found> look() override {
    const auto rows = sql_->query(std::string(kLook));
    if (!rows) return fail(rows.error());
    Found found;
    found.versions.assign(stock_.places(), kv::kAbsent);
    for (const auto& row : *rows) {
      const auto place = place_of(stock_, row[0], row[1]);
      if (place) {
        found.versions[*place] = number<kv::Version>(row[2]);
      } else {
        ++found.others;
      }
      if (row[3] != "t") ++found.misplaced;
      found.numbers += number<std::int64_t>(row[4]);
    }
    return found;
  }

  const std::string& where() const noexcept override { return schema_->dsn(); }
  int server_pid() const noexcept override { return server_.postmaster_pid; }

 private:
  fixtures::Postgres server_;
  std::optional<fixtures::Schema> schema_;
  std::optional<fixtures::Client> sql_;
};

}  // namespace

Result<std::unique_ptr<Stage>> Stage::on(fixtures::Postgres server, Stock stock) {
  auto stage = std::make_unique<PostgresStage>(std::move(server), stock);
  if (auto begun = stage->begin(); !begun) return fail(begun.error());
  return std::unique_ptr<Stage>(std::move(stage));
}

}  // namespace plimsoll::bench
