#include "bench/store_sql/stage.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <utility>

#include "lib/store_sql/statements.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::string_view kFill = R"sql(
TRUNCATE items RESTART IDENTITY;
INSERT INTO items (amount, body) SELECT 0, repeat('x', {body}) FROM generate_series(1, {items});
ANALYZE items;
)sql";

}  // namespace

std::string fill_sql(const Stock& stock) {
  return fmt::format(kFill, fmt::arg("body", stock.body), fmt::arg("items", stock.items));
}

Result<std::unique_ptr<Stage>> Stage::make(fixtures::Postgres server, std::string_view suffix,
                                           Stock stock) {
  static std::atomic<int> number{0};
  std::unique_ptr<Stage> stage(new Stage());
  stage->server_ = std::move(server);
  stage->stock_ = stock;
  stage->body_.assign(stock.body, 'x');
  auto schema = fixtures::Schema::create(stage->server_, fmt::format("{}_{:03}", suffix, ++number));
  if (!schema) return fail(schema.error());
  stage->schema_.emplace(std::move(*schema));
  stage->connection_ = pg::Config(stage->dsn());
  auto sql = fixtures::Client::connect(stage->dsn());
  if (!sql) return fail(sql.error());
  stage->sql_.emplace(std::move(*sql));
  const auto statements = store::statements_for(stage->schema());
  if (!statements) return fail(statements.error());
  if (auto done = stage->run(statements->ddl); !done) return fail(done.error());
  if (auto filled = stage->refill(); !filled) return fail(filled.error());
  return stage;
}

// The statements name the schema, so no search path is missed there.
void Stage::go_through(fixtures::Pooler pooler) {
  connection_ = pg::Config(std::move(pooler.dsn));
  connection_.pooled = true;
  pooler_pid_ = pooler.pid;
}

std::vector<int> Stage::server_pids() const {
  std::vector<int> pids;
  if (server_.postmaster_pid > 0) pids.push_back(server_.postmaster_pid);
  if (pooler_pid_ > 0) pids.push_back(pooler_pid_);
  return pids;
}

Result<void> Stage::refill() { return run(fill_sql(stock_)); }

Result<void> Stage::run(const std::string& sql) {
  auto rows = sql_->query(sql);
  if (!rows) return fail(rows.error());
  return {};
}

Result<std::int64_t> Stage::number(const std::string& sql) {
  auto rows = sql_->query(sql);
  if (!rows) return fail(rows.error());
  if (rows->empty() || rows->front().empty()) {
    return fail(Errc::kProtocol, "no row: " + sql);
  }
  const std::string& text = rows->front().front();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return fail(Errc::kProtocol, fmt::format("'{}' is not a whole number: {}", text, sql));
  }
  return value;
}

}  // namespace plimsoll::bench
