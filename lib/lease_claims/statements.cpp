#include "lib/lease_claims/statements.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "lib/lease_claims/lease.hpp"

namespace plimsoll::lease {
namespace {

// clock_timestamp() is volatile and cannot bound an index scan; as an uncorrelated sub-select it is
// read once a statement and can. now() would be the start of the transaction, which may lie far
// back.
constexpr std::string_view kDue =
    "next_fire <= (SELECT clock_timestamp()) AND lease_until <= (SELECT clock_timestamp())";

// `owner` stays after the lease: it names the last holder, and leaving it alone keeps the row's WAL
// small.
constexpr std::string_view kTake =
    "SET owner = $2, lease_until = clock_timestamp() + $3::float8 * interval '1 millisecond', "
    "fence = s.fence + 1";

// What the caller learns of a claimed row. extract() is exact (numeric); float8 would be off by
// microseconds some day.
constexpr std::string_view kTaken =
    "s.schedule, (extract(epoch FROM s.next_fire) * 1000000)::bigint, s.fence";

// The token and the database's clock, read anew when the row had to be waited for.
constexpr std::string_view kHeld = "s.lease_until > clock_timestamp()";

// Moves a schedule to its next slot. Slots live on the local wall clock, in next_local; next_fire
// is the instant. The next slot is the first one after the label that the wall clock really showed
// at this fire: so the slots of a skipped hour, which fire under the labels of the hour after, do
// not fire again there.
constexpr std::string_view kAdvance =
    "SET lease_until = '-infinity', (next_local, next_fire) = "
    "(SELECT slot, slot AT TIME ZONE s.zone FROM (SELECT s.next_local + interval '1 second' * "
    "s.period_s * "
    "(1 + greatest(0, floor(date_part('epoch', greatest(s.next_fire AT TIME ZONE s.zone, "
    "CASE WHEN NOT s.catch_up THEN clock_timestamp() AT TIME ZONE s.zone END) - s.next_local) / "
    "s.period_s))) "
    "AS slot OFFSET 0) advance)";

std::string micros(std::string_view parameter) {
  return fmt::format("timestamptz 'epoch' + {}::bigint * interval '1 microsecond'", parameter);
}

std::string claim_one(std::string_view schema) {
  // `=` with a scalar sub-select: PostgreSQL runs it once. With IN it may run it per outer row and
  // lock beyond LIMIT.
  return fmt::format(
      "WITH due AS MATERIALIZED (SELECT ctid FROM {0}.schedules WHERE tenant = $1 AND {1} "
      "ORDER BY next_fire LIMIT 1 FOR UPDATE SKIP LOCKED) "
      "UPDATE {0}.schedules s {2} WHERE s.ctid = (SELECT ctid FROM due) RETURNING {3}",
      schema, kDue, kTake, kTaken);
}

std::string claim_batch(std::string_view schema) {
  // The rows are locked, so their addresses hold until the end of the statement, and an array of
  // addresses leaves the planner no join to choose: it takes LIMIT $4 for a tenth of the table and
  // might hash the whole of it.
  return fmt::format(
      "WITH due AS MATERIALIZED (SELECT ctid FROM {0}.schedules WHERE tenant = $1 AND {1} "
      "ORDER BY next_fire LIMIT $4 FOR UPDATE SKIP LOCKED) "
      "UPDATE {0}.schedules s {2} WHERE s.ctid = ANY(ARRAY(SELECT ctid FROM due)) RETURNING {3}",
      schema, kDue, kTake, kTaken);
}

std::string claim_advisory(std::string_view schema) {
  // OFFSET 0 keeps the lock call above the ordered scan: it is tried row by row until LIMIT, and
  // never on rows that a sort would have thrown away. The lock ends with the transaction, so an
  // error, a crash or a pooler cannot leak it; the row is judged again in the UPDATE, because the
  // lock may be had just after its last holder's commit.
  return fmt::format(
      "WITH due AS MATERIALIZED (SELECT spot FROM (SELECT ctid AS spot, schedule, tableoid FROM "
      "{0}.schedules "
      "WHERE tenant = $1 AND {1} ORDER BY next_fire OFFSET 0) candidate "
      "WHERE pg_try_advisory_xact_lock(hashint8extended(schedule, hashtextextended($1, tableoid"
      "::bigint))) LIMIT $4) "
      "UPDATE {0}.schedules s {2} WHERE s.ctid = ANY(ARRAY(SELECT spot FROM due)) AND s.tenant = "
      "$1 AND {1} "
      "RETURNING {3}",
      schema, kDue, kTake, kTaken);
}

std::string claim_optimistic(std::string_view schema) {
  // Nothing is locked while choosing, so everybody chooses the same rows; after a lost race $5
  // spreads the choice. The answer always has a row: its last column tells "nothing due" from "all
  // lost".
  return fmt::format(
      "WITH due AS MATERIALIZED (SELECT ctid AS spot, fence FROM {0}.schedules WHERE tenant = $1 "
      "AND {1} "
      "ORDER BY next_fire LIMIT $4 OFFSET floor(random() * $5::float8)), "
      "taken AS (UPDATE {0}.schedules s {2} FROM due WHERE s.ctid = due.spot AND s.fence = "
      "due.fence "
      "AND s.tenant = $1 AND {1} RETURNING {3}) "
      "SELECT taken.*, (SELECT count(*) FROM due) FROM (VALUES (1)) always LEFT JOIN taken ON true",
      schema, kDue, kTake, kTaken);
}

std::string claim_fair(std::string_view schema) {
  // Walks from tenant to tenant by one index probe each, which also gives the tenant's earliest
  // fire. The walk is lazy: it ends when LIMIT is reached, or after $6 tenants. `reached` is where
  // the next claim goes on; it is computed only when the whole walk was needed anyway.
  return fmt::format(
      "WITH RECURSIVE walk (tenant, next_fire, step) AS ("
      "(SELECT tenant, next_fire, 1 FROM {0}.schedules WHERE tenant > $1 ORDER BY tenant, "
      "next_fire LIMIT 1) "
      "UNION ALL SELECT probe.tenant, probe.next_fire, walk.step + 1 FROM walk CROSS JOIN LATERAL ("
      "SELECT tenant, next_fire FROM {0}.schedules WHERE tenant > walk.tenant ORDER BY tenant, "
      "next_fire LIMIT 1) probe "
      "WHERE walk.step < $6::int), "
      "due AS MATERIALIZED (SELECT row.spot FROM walk CROSS JOIN LATERAL (SELECT ctid AS spot FROM "
      "{0}.schedules "
      "WHERE tenant = walk.tenant AND {1} ORDER BY next_fire LIMIT $5 FOR UPDATE SKIP LOCKED) row "
      "WHERE walk.next_fire <= (SELECT clock_timestamp()) LIMIT $4), "
      "taken AS (UPDATE {0}.schedules s {2} WHERE s.ctid = ANY(ARRAY(SELECT spot FROM due)) "
      "RETURNING {3}, s.tenant) "
      "SELECT taken.*, CASE WHEN (SELECT count(*) FROM due) < $4 THEN (SELECT max(tenant) FROM "
      "walk) END, "
      "CASE WHEN (SELECT count(*) FROM due) < $4 THEN (SELECT count(*) FROM walk) END "
      "FROM (VALUES (1)) always LEFT JOIN taken ON true",
      schema, kDue, kTake, kTaken);
}

std::string fire_one(std::string_view schema) {
  return fmt::format(
      "WITH advanced AS (UPDATE {0}.schedules s {1} WHERE s.tenant = $1 AND s.schedule = $2 AND "
      "s.fence = $3 "
      "AND s.next_fire = {2} AND {3} RETURNING s.next_fire), "
      "fired AS (INSERT INTO {0}.fires (tenant, schedule, fire_time, fence) SELECT $1, $2, {2}, $3 "
      "FROM advanced "
      "ON CONFLICT DO NOTHING RETURNING 1) "
      "SELECT (extract(epoch FROM next_fire) * 1000000)::bigint, (SELECT count(*) FROM fired) FROM "
      "advanced",
      schema, kAdvance, micros("$4"), kHeld);
}

std::string fire_all(std::string_view schema) {
  return fmt::format(
      "WITH advanced AS (UPDATE {0}.schedules s {1} FROM unnest($1::text[], $2::bigint[], "
      "$3::bigint[], $4::bigint[]) "
      "AS h (tenant, schedule, fence, at) WHERE s.tenant = h.tenant AND s.schedule = h.schedule "
      "AND s.fence = h.fence "
      "AND s.next_fire = {2} AND {3} RETURNING s.tenant, s.schedule, s.fence, {2} AS fire_time), "
      "fired AS (INSERT INTO {0}.fires (tenant, schedule, fire_time, fence) SELECT tenant, "
      "schedule, fire_time, fence "
      "FROM advanced ON CONFLICT DO NOTHING RETURNING tenant, schedule) "
      "SELECT a.tenant, a.schedule, (f.schedule IS NOT NULL)::int FROM advanced a LEFT JOIN fired "
      "f USING (tenant, schedule)",
      schema, kAdvance, micros("h.at"), kHeld);
}

void add_batches(Statements& all, std::string_view schema) {
  constexpr std::string_view kRows =
      "FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS h (tenant, schedule, fence) "
      "WHERE s.tenant = h.tenant AND s.schedule = h.schedule AND s.fence = h.fence";
  all.renew_all =
      named("renew_all",
            fmt::format("UPDATE {}.schedules s SET lease_until = clock_timestamp() + $4::float8 "
                        "* interval '1 millisecond' {} AND {} RETURNING s.tenant, s.schedule",
                        schema, kRows, kHeld));
  all.release_all = named(
      "release_all", fmt::format("UPDATE {}.schedules s SET lease_until = '-infinity' {} AND {} "
                                 "RETURNING s.tenant, s.schedule",
                                 schema, kRows, kHeld));
  all.fire_all = named("fire_all", fire_all(schema));
  all.explain_all =
      named("explain_all",
            fmt::format("SELECT f.tenant, f.schedule FROM unnest($1::text[], $2::bigint[], "
                        "$3::bigint[], $4::bigint[]) "
                        "AS h (tenant, schedule, fence, at) JOIN {}.fires f ON f.tenant = h.tenant "
                        "AND f.schedule = h.schedule AND f.fire_time = {} AND f.fence = h.fence",
                        schema, micros("h.at")));
}

}  // namespace

std::string_view name(Subject subject) noexcept {
  switch (subject) {
    case Subject::kSkipLocked:
      return "skip_locked";
    case Subject::kSkipLockedBatch:
      return "skip_locked_batch";
    case Subject::kAdvisory:
      return "advisory";
    case Subject::kUpdateReturning:
      return "update_returning";
  }
  return "unknown";
}

Statement named(std::string_view operation, std::string sql) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char c : sql) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return Statement{std::move(sql), fmt::format("lease_{}_{:016x}", operation, hash)};
}

Result<std::string> quoted_identifier(std::string_view schema) {
  if (schema.empty() || schema.size() > 63) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a schema's name has 1 to 63 bytes, this one {}", schema.size()));
  }
  std::string quoted{'"'};
  for (const char c : schema) {
    if (c == '\0') return fail(Errc::kInvalidArgument, "a schema's name holds a NUL byte");
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

Result<Statements> statements_for(Subject subject, std::string_view schema) {
  const Result<std::string> quoted = quoted_identifier(schema);
  if (!quoted) return fail(quoted.error());
  Statements all;
  switch (subject) {
    case Subject::kSkipLocked:
      all.claim = named("claim", claim_one(*quoted));
      break;
    case Subject::kSkipLockedBatch:
      all.claim = named("claim", claim_batch(*quoted));
      all.max_batch = kMaxBatch;
      break;
    case Subject::kAdvisory:
      all.claim = named("claim", claim_advisory(*quoted));
      all.max_batch = kMaxAdvisoryBatch;
      break;
    case Subject::kUpdateReturning:
      all.claim = named("claim", claim_optimistic(*quoted));
      all.max_batch = kMaxBatch;
      all.optimistic = true;
      break;
  }
  constexpr std::string_view kMine = "WHERE s.tenant = $1 AND s.schedule = $2 AND s.fence = $3";
  all.renew =
      named("renew",
            fmt::format("UPDATE {}.schedules s SET lease_until = clock_timestamp() + $4::float8 * "
                        "interval '1 millisecond' {} AND {}",
                        *quoted, kMine, kHeld));
  all.release =
      named("release", fmt::format("UPDATE {}.schedules s SET lease_until = '-infinity' {} AND {}",
                                   *quoted, kMine, kHeld));
  all.fire = named("fire", fire_one(*quoted));
  all.explain =
      named("explain",
            fmt::format("SELECT s.fence, coalesce(s.owner, ''), (s.next_fire = 'infinity')::int, "
                        "CASE WHEN s.next_fire < 'infinity' THEN (extract(epoch FROM s.next_fire) "
                        "* 1000000)::bigint END, "
                        "(SELECT f.fence FROM {0}.fires f WHERE f.tenant = $1 AND f.schedule = $2 "
                        "AND f.fire_time = {1}) "
                        "FROM {0}.schedules s WHERE s.tenant = $1 AND s.schedule = $2",
                        *quoted, micros("$3")));
  add_batches(all, *quoted);
  all.due = named(
      "due", fmt::format("SELECT schedule, (extract(epoch FROM next_fire) * 1000000)::bigint FROM "
                         "{}.schedules WHERE tenant = $1 AND {} ORDER BY next_fire LIMIT $2",
                         *quoted, kDue));
  all.claim_fair = named("claim_fair", claim_fair(*quoted));
  return all;
}

}  // namespace plimsoll::lease
