#include "bench/lease_claims/audit.hpp"

#include <fmt/format.h>

namespace plimsoll::bench {
namespace {

// `slots` is what a schedule has passed since `first`, `fired` those of them that are in `fires`.
constexpr std::string_view kLost = R"sql(
SELECT coalesce(sum(abs(slots - fired)), 0)::bigint FROM (
  SELECT (extract(epoch FROM s.next_fire - s.first) / s.period_s)::bigint AS slots,
         count(DISTINCT f.fire_time) FILTER (
           WHERE f.fire_time >= s.first AND f.fire_time < s.next_fire
             AND extract(epoch FROM f.fire_time - s.first) % s.period_s = 0) AS fired
  FROM schedules s LEFT JOIN fires f USING (tenant, schedule)
  GROUP BY s.tenant, s.schedule) each)sql";

// Rows of `fires` beyond one for each slot that was passed: the same slot again, one that is still
// to come, or a moment that is none.
constexpr std::string_view kDuplicates = R"sql(
SELECT (SELECT count(*) FROM fires) - (
  SELECT count(DISTINCT (f.tenant, f.schedule, f.fire_time))
  FROM fires f JOIN schedules s USING (tenant, schedule)
  WHERE f.fire_time >= s.first AND f.fire_time < s.next_fire
    AND extract(epoch FROM f.fire_time - s.first) % s.period_s = 0))sql";

constexpr std::string_view kRepeatedTokens =
    "SELECT count(*) - count(DISTINCT (tenant, schedule, fence)) FROM fires";

// `late` is judged by the moment at which the statement arrived: a write that arrived in time may
// be noted after its lease, one that arrived after it may not be accepted. `doubly` is sure, since
// the clock only goes on: who is still held now was held when the claim looked.
constexpr std::string_view kAudit = R"sql(
CREATE TABLE audit (what text, rows bigint);
CREATE FUNCTION note_update() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE claimed bigint; odd bigint; doubly bigint; taken bigint; late bigint;
BEGIN
  SELECT count(*), count(*) FILTER (WHERE n.fence <> o.fence + 1),
         count(*) FILTER (WHERE o.lease_until > clock_timestamp()),
         count(*) FILTER (WHERE o.lease_until > '-infinity' AND o.owner = '{holder}')
  INTO claimed, odd, doubly, taken
  FROM n JOIN o USING (tenant, schedule)
  WHERE n.lease_until > '-infinity' AND n.lease_until <> o.lease_until;
  SELECT count(*) INTO late FROM n JOIN o USING (tenant, schedule)
  WHERE n.next_fire > o.next_fire AND o.lease_until <= statement_timestamp();
  INSERT INTO audit SELECT * FROM (VALUES ('beyond_limit', claimed - {limit}),
    ('token_regression', odd), ('held_claim', doubly), ('takeover', taken), ('stale_write', late))
    AS noted (what, rows) WHERE rows > 0;
  RETURN NULL;
END $$;
CREATE FUNCTION note_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit SELECT 'repeated_fire', count(*) FROM fires f
  WHERE f.tenant = new.tenant AND f.schedule = new.schedule AND f.fire_time = new.fire_time
  HAVING count(*) > 0;
  RETURN new;
END $$;
CREATE FUNCTION note_fire() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF new.fence IS DISTINCT FROM (SELECT s.fence FROM schedules s
                                 WHERE s.tenant = new.tenant AND s.schedule = new.schedule) THEN
    INSERT INTO audit VALUES ('stale_write', 1);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note AFTER UPDATE ON schedules REFERENCING OLD TABLE AS o NEW TABLE AS n
  FOR EACH STATEMENT EXECUTE FUNCTION note_update();
CREATE TRIGGER note_key BEFORE INSERT ON fires FOR EACH ROW EXECUTE FUNCTION note_key();
CREATE TRIGGER note AFTER INSERT ON fires FOR EACH ROW EXECUTE FUNCTION note_fire();
)sql";

constexpr std::array<Count, 3> kTableCounts{{{"duplicate_fires", kDuplicates},
                                             {"lost_fires", kLost},
                                             {"repeated_tokens", kRepeatedTokens}}};

constexpr std::array<Count, 5> kNotedCounts{
    {{"token_regressions",
      "SELECT coalesce(sum(rows), 0)::bigint FROM audit WHERE what = 'token_regression'"},
     {"stale_writes_accepted",
      "SELECT coalesce(sum(rows), 0)::bigint FROM audit WHERE what = 'stale_write'"},
     {"rows_claimed_beyond_limit",
      "SELECT coalesce(sum(rows), 0)::bigint FROM audit WHERE what = 'beyond_limit'"},
     {"held_rows_claimed",
      "SELECT coalesce(sum(rows), 0)::bigint FROM audit WHERE what = 'held_claim'"},
     {"repeated_fires",
      "SELECT coalesce(sum(rows), 0)::bigint FROM audit WHERE what = 'repeated_fire'"}}};

}  // namespace

const std::array<Count, 3>& table_counts() noexcept { return kTableCounts; }

const std::array<Count, 5>& noted_counts() noexcept { return kNotedCounts; }

std::string audit_sql(std::size_t limit) {
  return fmt::format(kAudit, fmt::arg("limit", limit), fmt::arg("holder", kHolderName));
}

}  // namespace plimsoll::bench
