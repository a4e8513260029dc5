#include "bench/lease_claims/stage.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>

#include "lib/lease_claims/schema.hpp"

namespace plimsoll::bench {
namespace {

// `first` never changes, so that the slots between it and next_fire tell how many fires there must
// be, whatever was fired by whom. A tenant's name is its number: other tools can draw it.
constexpr std::string_view kFill = R"sql(
ALTER TABLE schedules ADD COLUMN IF NOT EXISTS first timestamptz NOT NULL DEFAULT 'epoch';
TRUNCATE schedules, fires;
INSERT INTO schedules (tenant, schedule, next_fire, next_local, period_s, first)
SELECT t, s, at, at AT TIME ZONE 'UTC', {period}, at
FROM generate_series(0, {tenants} - 1) t, generate_series(1, {each}) s, LATERAL (SELECT {at} AS at) moment
ORDER BY t, s;
ANALYZE schedules;
)sql";

}  // namespace

std::string fill_sql(const Rows& rows) {
  const bool all = rows.due == Rows::Due::kAll;
  const std::string at =
      all ? "timestamptz '2015-01-01 00:00:00+00' + s * interval '1 ms'"
          : fmt::format(
                "date_trunc('second', now()) + (s - {0} / 2) * interval '3600 s' / ({0} / 2)",
                rows.each);
  return fmt::format(kFill, fmt::arg("period", all ? 60 : 3600), fmt::arg("tenants", rows.tenants),
                     fmt::arg("each", rows.each), fmt::arg("at", at));
}

Result<std::unique_ptr<Stage>> Stage::make(fixtures::Postgres server, std::string_view suffix,
                                           Rows rows) {
  static std::atomic<int> number{0};
  std::unique_ptr<Stage> stage(new Stage());
  stage->server_ = std::move(server);
  stage->rows_ = rows;
  auto schema = fixtures::Schema::create(stage->server_, fmt::format("{}_{:03}", suffix, ++number));
  if (!schema) return fail(schema.error());
  stage->schema_.emplace(std::move(*schema));
  auto sql = fixtures::Client::connect(stage->dsn());
  if (!sql) return fail(sql.error());
  stage->sql_.emplace(std::move(*sql));
  const auto ddl = lease::ddl(stage->schema());
  if (!ddl) return fail(ddl.error());
  if (auto done = stage->run(*ddl); !done) return fail(done.error());
  if (auto filled = stage->refill(); !filled) return fail(filled.error());
  return stage;
}

Result<void> Stage::refill() { return run(fill_sql(rows_)); }

std::string Stage::tenant(std::uint64_t number) const {
  return std::to_string(number % static_cast<std::uint64_t>(rows_.tenants));
}

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
