#include "lib/lease_claims/schema.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/lease_claims/checks.hpp"
#include "lib/lease_claims/statements.hpp"

namespace plimsoll::lease {
namespace {

// What a claim changes (lease_until, fence, owner) is in no index and half of each page is free, so
// that a claim, a renewal and a release are heap-only updates even when one batch takes every row
// of a page: no index entry, and the next reader of the page prunes the old version. (With 30 %
// free, 44 of 100 updates of such batches left the page, and WAL was 1.8 times as much.) What
// changes stands side by side, since WAL holds only the stretch of the row between the first and
// the last changed byte. The table is small and changes all the time: vacuum comes early and does
// not pause. "C" compares names as bytes. Two programs that start at once must not both create:
// CREATE IF NOT EXISTS alone fails then with a unique violation in the catalogue.
constexpr std::string_view kDdl = R"sql(
SELECT pg_advisory_xact_lock(hashtextextended('plimsoll.lease_claims.install', 0));
CREATE TABLE IF NOT EXISTS {0}.schedules (
  schedule    bigint      NOT NULL,
  period_s    integer     NOT NULL CHECK (period_s > 0),
  catch_up    boolean     NOT NULL DEFAULT true,
  next_fire   timestamptz NOT NULL,
  next_local  timestamp   NOT NULL,
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  fence       bigint      NOT NULL DEFAULT 0,
  owner       text        COLLATE "C",
  tenant      text        COLLATE "C" NOT NULL CHECK (tenant <> ''),
  zone        text        COLLATE "C" NOT NULL DEFAULT 'UTC',
  PRIMARY KEY (tenant, schedule)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX IF NOT EXISTS schedules_due ON {0}.schedules (tenant, next_fire);
CREATE TABLE IF NOT EXISTS {0}.fires (
  schedule  bigint      NOT NULL,
  fire_time timestamptz NOT NULL,
  fence     bigint      NOT NULL,
  fired_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  tenant    text        COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, schedule, fire_time)
);
)sql";

// A retired schedule is one that is due at infinity.
constexpr std::string_view kAdd =
    "INSERT INTO {0}.schedules AS s (tenant, schedule, next_fire, next_local, period_s, zone, "
    "catch_up) "
    "SELECT $1, $2, first, first AT TIME ZONE $5, $4, $5, $6 "
    "FROM (SELECT timestamptz 'epoch' + $3::bigint * interval '1 microsecond' AS first) slot "
    "ON CONFLICT (tenant, schedule) DO UPDATE SET next_fire = excluded.next_fire, next_local = "
    "excluded.next_local, "
    "period_s = excluded.period_s, zone = excluded.zone, catch_up = excluded.catch_up "
    "WHERE s.next_fire = 'infinity'";

constexpr std::string_view kRetire =
    "UPDATE {0}.schedules SET next_fire = 'infinity', lease_until = '-infinity', fence = fence + 1 "
    "WHERE tenant = $1 AND schedule = $2 AND next_fire < 'infinity'";

}  // namespace

Result<std::string> ddl(std::string_view schema) {
  const Result<std::string> quoted = quoted_identifier(schema);
  if (!quoted) return fail(quoted.error());
  return fmt::format(kDdl, *quoted);
}

asio::awaitable<Result<void>> install(pg::Connection& connection, std::string schema) {
  Result<std::string> sql = ddl(schema);
  if (!sql) co_return fail(sql.error());
  Result<void> done = co_await connection.script(std::move(*sql));
  co_return done;
}

asio::awaitable<Result<bool>> add_schedule(pg::Connection& connection, std::string schema,
                                           ScheduleSpec spec) {
  const Result<std::string> quoted = quoted_identifier(schema);
  if (!quoted) co_return fail(quoted.error());
  if (const auto bad = check_schedule(spec); !bad) co_return fail(bad.error());
  Statement add = named("add", fmt::format(kAdd, *quoted));
  pg::Query query{std::move(add.sql),
                  {spec.tenant, std::to_string(spec.schedule),
                   std::to_string(spec.first.time_since_epoch().count()),
                   std::to_string(spec.period.count()), spec.zone, spec.catch_up ? "t" : "f"},
                  std::move(add.name)};
  Result<pg::Rows> rows = co_await connection.query(std::move(query));
  if (!rows && rows.error().sqlstate == "22023") {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("add_schedule: {} is not a time zone that the server knows; give an "
                               "IANA name such as Europe/Berlin",
                               spec.zone));
  }
  if (!rows) co_return fail(rows.error());
  co_return rows->affected() == 1;
}

asio::awaitable<Result<void>> retire_schedule(pg::Connection& connection, std::string schema,
                                              std::string tenant, std::int64_t schedule) {
  const Result<std::string> quoted = quoted_identifier(schema);
  if (!quoted) co_return fail(quoted.error());
  if (const auto bad = check_name("retire_schedule", "tenant", tenant); !bad) {
    co_return fail(bad.error());
  }
  Statement retire = named("retire", fmt::format(kRetire, *quoted));
  pg::Query query{
      std::move(retire.sql), {tenant, std::to_string(schedule)}, std::move(retire.name)};
  Result<pg::Rows> rows = co_await connection.query(std::move(query));
  if (!rows) co_return fail(rows.error());
  if (rows->affected() == 0) {
    co_return fail(Errc::kNotFound,
                   fmt::format("retire_schedule: {} has no schedule {}", tenant, schedule));
  }
  co_return Result<void>{};
}

}  // namespace plimsoll::lease
