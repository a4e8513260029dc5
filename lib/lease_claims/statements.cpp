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
constexpr std::string_view kIsDue = R"sql(
  next_fire <= (SELECT clock_timestamp()) AND lease_until <= (SELECT clock_timestamp()))sql";

// `owner` stays after the lease: it names the last holder, and leaving it alone keeps WAL small.
constexpr std::string_view kTake = R"sql(
  SET owner = $2,
      lease_until = clock_timestamp() + $3::float8 * interval '1 millisecond',
      fence = s.fence + 1)sql";

// What the caller learns. extract() is exact (numeric); float8 would some day round microseconds.
constexpr std::string_view kTaken =
    "s.schedule, (extract(epoch FROM s.next_fire) * 1000000)::bigint, s.fence";

// The database's clock, read anew when the row had to be waited for.
constexpr std::string_view kIsHeld = "s.lease_until > clock_timestamp()";

// Moves a schedule to its next slot. Slots live on the local wall clock, in next_local; next_fire
// is the instant. The next slot is the first one after the label that the wall clock really showed
// at this fire: so the slots of a skipped hour, which fire under the labels of the hour after it,
// do not fire again there.
constexpr std::string_view kAdvance = R"sql(
  SET lease_until = '-infinity',
      (next_local, next_fire) = (
        SELECT slot, slot AT TIME ZONE s.zone
        FROM (SELECT s.next_local + interval '1 second' * s.period_s * (1 + greatest(0, floor(
                date_part('epoch', greatest(
                    s.next_fire AT TIME ZONE s.zone,
                    CASE WHEN NOT s.catch_up THEN clock_timestamp() AT TIME ZONE s.zone END)
                  - s.next_local) / s.period_s))) AS slot
              OFFSET 0) advance))sql";

// `=` with a scalar sub-select, which PostgreSQL runs once; with IN it may run it for each outer
// row and so lock more than LIMIT.
constexpr std::string_view kClaimOne = R"sql(
WITH due AS MATERIALIZED (
  SELECT ctid FROM {schema}.schedules
  WHERE tenant = $1 AND {is_due}
  ORDER BY next_fire LIMIT 1 FOR UPDATE SKIP LOCKED)
UPDATE {schema}.schedules s {take}
WHERE s.ctid = (SELECT ctid FROM due)
RETURNING {taken})sql";

// The rows are locked, so their addresses hold until the end of the statement; and an array of
// addresses leaves the planner no join to choose, which takes LIMIT $4 for a tenth of the table and
// might hash all of it.
constexpr std::string_view kClaimBatch = R"sql(
WITH due AS MATERIALIZED (
  SELECT ctid FROM {schema}.schedules
  WHERE tenant = $1 AND {is_due}
  ORDER BY next_fire LIMIT $4 FOR UPDATE SKIP LOCKED)
UPDATE {schema}.schedules s {take}
WHERE s.ctid = ANY(ARRAY(SELECT ctid FROM due))
RETURNING {taken})sql";

// OFFSET 0 keeps the lock call above the ordered scan: it is tried row by row until LIMIT, never on
// rows that a sort or a limit would have thrown away. The lock ends with the transaction, so
// neither an error nor a crash nor a pooler can leak it. The row is judged again in the UPDATE,
// because the lock may be had just after its last holder's commit, by one who still sees the row as
// it was.
constexpr std::string_view kClaimAdvisory = R"sql(
WITH due AS MATERIALIZED (
  SELECT spot
  FROM (SELECT ctid AS spot, schedule, tableoid FROM {schema}.schedules
        WHERE tenant = $1 AND {is_due}
        ORDER BY next_fire OFFSET 0) candidate
  WHERE pg_try_advisory_xact_lock(
      hashint8extended(schedule, hashtextextended($1, tableoid::bigint)))
  LIMIT $4)
UPDATE {schema}.schedules s {take}
WHERE s.ctid = ANY(ARRAY(SELECT spot FROM due)) AND s.tenant = $1 AND {is_due}
RETURNING {taken})sql";

// Nothing is locked while choosing, so everybody chooses the same rows; after a lost race $5
// spreads the choice. The answer always has a row: its last column tells "nothing due" from "all
// lost".
constexpr std::string_view kClaimOptimistic = R"sql(
WITH due AS MATERIALIZED (
  SELECT ctid AS spot, fence FROM {schema}.schedules
  WHERE tenant = $1 AND {is_due}
  ORDER BY next_fire LIMIT $4 OFFSET floor(random() * $5::float8)),
taken AS (
  UPDATE {schema}.schedules s {take}
  FROM due
  WHERE s.ctid = due.spot AND s.fence = due.fence AND s.tenant = $1 AND {is_due}
  RETURNING {taken})
SELECT taken.*, (SELECT count(*) FROM due)
FROM (VALUES (1)) always LEFT JOIN taken ON true)sql";

// Walks from tenant to tenant by one index probe each, which also gives the tenant's earliest fire.
// The walk is lazy: it ends when LIMIT is reached, or after $6 tenants. The last two columns say
// where the walk ended and how many tenants it passed; when LIMIT ended it the second is null and
// the first is the last tenant that a row was locked of, also where the UPDATE then took none of
// the rows because they had been changed a moment ago.
constexpr std::string_view kClaimFair = R"sql(
WITH RECURSIVE walk (tenant, next_fire, step) AS (
  (SELECT tenant, next_fire, 1 FROM {schema}.schedules
   WHERE tenant > $1 ORDER BY tenant, next_fire LIMIT 1)
  UNION ALL
  SELECT probe.tenant, probe.next_fire, walk.step + 1
  FROM walk CROSS JOIN LATERAL (
    SELECT tenant, next_fire FROM {schema}.schedules
    WHERE tenant > walk.tenant ORDER BY tenant, next_fire LIMIT 1) probe
  WHERE walk.step < $6::int),
due AS MATERIALIZED (
  SELECT pick.spot, walk.tenant
  FROM walk CROSS JOIN LATERAL (
    SELECT ctid AS spot FROM {schema}.schedules
    WHERE tenant = walk.tenant AND {is_due}
    ORDER BY next_fire LIMIT $5 FOR UPDATE SKIP LOCKED) pick
  WHERE walk.next_fire <= (SELECT clock_timestamp())
  LIMIT $4),
taken AS (
  UPDATE {schema}.schedules s {take}
  WHERE s.ctid = ANY(ARRAY(SELECT spot FROM due))
  RETURNING {taken}, s.tenant)
SELECT taken.*,
       CASE WHEN (SELECT count(*) FROM due) < $4 THEN (SELECT max(tenant) FROM walk)
            ELSE (SELECT max(tenant) FROM due) END,
       CASE WHEN (SELECT count(*) FROM due) < $4 THEN (SELECT count(*) FROM walk) END
FROM (VALUES (1)) always LEFT JOIN taken ON true)sql";

constexpr std::string_view kRenew = R"sql(
UPDATE {schema}.schedules s
SET lease_until = clock_timestamp() + $4::float8 * interval '1 millisecond'
WHERE s.tenant = $1 AND s.schedule = $2 AND s.fence = $3 AND {is_held})sql";

constexpr std::string_view kRelease = R"sql(
UPDATE {schema}.schedules s SET lease_until = '-infinity'
WHERE s.tenant = $1 AND s.schedule = $2 AND s.fence = $3 AND {is_held})sql";

// The unique key of `fires` has the last word: a fire time that is there already is not fired
// again, whatever moved the schedule back to it.
constexpr std::string_view kFire = R"sql(
WITH advanced AS (
  UPDATE {schema}.schedules s {advance}
  WHERE s.tenant = $1 AND s.schedule = $2 AND s.fence = $3
    AND s.next_fire = timestamptz 'epoch' + $4::bigint * interval '1 microsecond' AND {is_held}
  RETURNING s.next_fire),
fired AS (
  INSERT INTO {schema}.fires (tenant, schedule, fire_time, fence)
  SELECT $1, $2, timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3 FROM advanced
  ON CONFLICT DO NOTHING RETURNING 1)
SELECT (extract(epoch FROM next_fire) * 1000000)::bigint, (SELECT count(*) FROM fired)
FROM advanced)sql";

constexpr std::string_view kExplain = R"sql(
SELECT s.fence, coalesce(s.owner, ''), s.next_fire = 'infinity',
       CASE WHEN s.next_fire < 'infinity'
            THEN (extract(epoch FROM s.next_fire) * 1000000)::bigint END,
       coalesce((SELECT f.fence = $3 FROM {schema}.fires f
                 WHERE f.tenant = $1 AND f.schedule = $2
                   AND f.fire_time = timestamptz 'epoch' + $4::bigint * interval '1 microsecond'),
                false)
FROM {schema}.schedules s WHERE s.tenant = $1 AND s.schedule = $2)sql";

constexpr std::string_view kRenewAll = R"sql(
UPDATE {schema}.schedules s
SET lease_until = clock_timestamp() + $4::float8 * interval '1 millisecond'
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS h (tenant, schedule, fence)
WHERE s.tenant = h.tenant AND s.schedule = h.schedule AND s.fence = h.fence AND {is_held}
RETURNING s.tenant, s.schedule)sql";

constexpr std::string_view kReleaseAll = R"sql(
UPDATE {schema}.schedules s SET lease_until = '-infinity'
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS h (tenant, schedule, fence)
WHERE s.tenant = h.tenant AND s.schedule = h.schedule AND s.fence = h.fence AND {is_held}
RETURNING s.tenant, s.schedule)sql";

// Two rows for each fire, since a join of the two lists would be a nested loop: the planner expects
// ten leases whatever comes.
constexpr std::string_view kFireAll = R"sql(
WITH advanced AS (
  UPDATE {schema}.schedules s {advance}
  FROM (SELECT tenant, schedule, fence, timestamptz 'epoch' + at * interval '1 microsecond' AS fire_time
        FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
             AS u (tenant, schedule, fence, at)) h
  WHERE s.tenant = h.tenant AND s.schedule = h.schedule AND s.fence = h.fence
    AND s.next_fire = h.fire_time AND {is_held}
  RETURNING s.tenant, s.schedule, s.fence, h.fire_time),
fired AS (
  INSERT INTO {schema}.fires (tenant, schedule, fire_time, fence)
  SELECT tenant, schedule, fire_time, fence FROM advanced
  ON CONFLICT DO NOTHING RETURNING tenant, schedule)
SELECT tenant, schedule, false FROM advanced
UNION ALL SELECT tenant, schedule, true FROM fired)sql";

constexpr std::string_view kExplainAll = R"sql(
SELECT f.tenant, f.schedule
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS h (tenant, schedule, fence, at)
JOIN {schema}.fires f ON f.tenant = h.tenant AND f.schedule = h.schedule AND f.fence = h.fence
  AND f.fire_time = timestamptz 'epoch' + h.at * interval '1 microsecond')sql";

constexpr std::string_view kDue = R"sql(
SELECT schedule, (extract(epoch FROM next_fire) * 1000000)::bigint FROM {schema}.schedules
WHERE tenant = $1 AND {is_due} ORDER BY next_fire LIMIT $2)sql";

Statement build(std::string_view operation, std::string_view text, std::string_view schema) {
  return named(operation, fmt::format(fmt::runtime(text), fmt::arg("schema", schema),
                                      fmt::arg("is_due", kIsDue), fmt::arg("is_held", kIsHeld),
                                      fmt::arg("take", kTake), fmt::arg("taken", kTaken),
                                      fmt::arg("advance", kAdvance)));
}

std::string_view claim_text(Subject subject) noexcept {
  switch (subject) {
    case Subject::kSkipLocked:
      return kClaimOne;
    case Subject::kSkipLockedBatch:
      return kClaimBatch;
    case Subject::kAdvisory:
      return kClaimAdvisory;
    case Subject::kUpdateReturning:
      return kClaimOptimistic;
  }
  return kClaimOne;
}

std::size_t max_batch(Subject subject) noexcept {
  if (subject == Subject::kSkipLocked) return 1;
  return subject == Subject::kAdvisory ? kMaxAdvisoryBatch : kMaxBatch;
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
  const auto make = [&](std::string_view operation, std::string_view text) {
    return build(operation, text, *quoted);
  };
  Statements all;
  all.claim = make("claim", claim_text(subject));
  all.renew = make("renew", kRenew);
  all.release = make("release", kRelease);
  all.fire = make("fire", kFire);
  all.explain = make("explain", kExplain);
  all.renew_all = make("renew_all", kRenewAll);
  all.release_all = make("release_all", kReleaseAll);
  all.fire_all = make("fire_all", kFireAll);
  all.explain_all = make("explain_all", kExplainAll);
  all.due = make("due", kDue);
  all.claim_fair = make("claim_fair", kClaimFair);
  all.max_batch = max_batch(subject);
  all.optimistic = subject == Subject::kUpdateReturning;
  return all;
}

}  // namespace plimsoll::lease
