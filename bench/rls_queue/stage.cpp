#include "bench/rls_queue/stage.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>

#include "bench/rls_queue/audit.hpp"

namespace plimsoll::bench {

std::string audit_ddl(const std::string& schema, const std::string& role) {
  return fmt::format(
      "CREATE TABLE {0}.seen (as_tenant text, saw_tenant text, rows bigint);"
      "CREATE TABLE {0}.log (seq bigserial, tenant text, caller bigint, n bigint);"
      "GRANT INSERT ON {0}.seen, {0}.log TO {1};"
      "GRANT USAGE ON SEQUENCE {0}.log_seq_seq TO {1};",
      schema, role);
}

std::string fill_sql(const std::string& schema, const Shape& shape) {
  return fmt::format(
      "TRUNCATE {0}.notes, {0}.seen, {0}.log RESTART IDENTITY;"
      "INSERT INTO {0}.notes (tenant, id, author, body) "
      "SELECT t, n, t, repeat('x', 100) FROM generate_series(0, {1} - 1) t, generate_series(1, "
      "{2}) n "
      "ORDER BY t, n;"
      "ANALYZE {0}.notes;",
      schema, shape.tenants, shape.each);
}

Result<std::unique_ptr<Stage>> Stage::make(fixtures::Postgres server, std::string_view suffix,
                                           Shape shape) {
  static std::atomic<int> number{0};
  std::unique_ptr<Stage> stage(new Stage());
  stage->server_ = std::move(server);
  stage->shape_ = shape;
  const auto name = fmt::format("{}_{:03}", suffix, ++number);
  auto schema = fixtures::Schema::create(stage->server_, name);
  if (!schema) return fail(schema.error());
  stage->schema_.emplace(std::move(*schema));
  auto role = fixtures::Role::create(stage->server_, name, *stage->schema_);
  if (!role) return fail(role.error());
  stage->role_.emplace(std::move(*role));
  stage->connection_ = pg::Config(stage->role_->dsn());
  auto sql = fixtures::Client::connect(stage->schema_->dsn());
  if (!sql) return fail(sql.error());
  stage->sql_.emplace(std::move(*sql));
  const auto quoted = rls::quoted_name(stage->schema_->name());
  const auto ddl = rls::ddl(stage->schema_->name(), shape.protection);
  const auto grants = rls::grants(stage->schema_->name(), stage->role());
  if (!quoted) return fail(quoted.error());
  if (!ddl) return fail(ddl.error());
  if (!grants) return fail(grants.error());
  stage->quoted_ = *quoted;
  const auto all = *ddl + *grants + audit_ddl(*quoted, stage->role());
  if (auto done = stage->run(all); !done) return fail(done.error());
  if (auto filled = stage->refill(); !filled) return fail(filled.error());
  return stage;
}

Result<void> Stage::go_through(fixtures::Pooler pooler) {
  auto dsn = role_->dsn_by(pooler.dsn);
  if (!dsn) return fail(dsn.error());
  connection_ = pg::Config(std::move(*dsn));
  connection_.pooled = true;
  pooler_ = std::move(pooler);
  return {};
}

std::vector<int> Stage::server_pids() const {
  std::vector<int> pids;
  if (server_.postmaster_pid > 0) pids.push_back(server_.postmaster_pid);
  if (pooler_ && pooler_->pid > 0) pids.push_back(pooler_->pid);
  return pids;
}

Result<std::int64_t> Stage::identities_behind_pooler(std::size_t connections) const {
  std::vector<fixtures::Client> held;
  std::int64_t left = 0;
  for (std::size_t i = 0; i < connections; ++i) {
    auto client = fixtures::Client::connect(connection_.dsn);
    if (!client) return fail(client.error());
    if (auto begun = client->query("BEGIN"); !begun) return fail(begun.error());
    const auto rows = client->query(std::string(kIdentityLeft));
    if (!rows) return fail(rows.error());
    left += rows->front().front() == "1" ? 1 : 0;
    held.push_back(std::move(*client));
  }
  return left;
}

Result<void> Stage::refill() { return run(fill_sql(quoted_, shape_)); }

Result<void> Stage::run(const std::string& sql) {
  auto rows = sql_->query(sql);
  if (!rows) return fail(rows.error());
  return {};
}

Result<std::int64_t> Stage::number(std::string_view sql) {
  auto rows = sql_->query(std::string(sql));
  if (!rows) return fail(rows.error());
  if (rows->empty() || rows->front().empty()) {
    return fail(Errc::kProtocol, fmt::format("no row: {}", sql));
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
