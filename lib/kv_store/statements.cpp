#include "lib/kv_store/statements.hpp"

#include <fmt/format.h>

#include "lib/pg/identifier.hpp"

namespace plimsoll::kv {
namespace {

// Keys are ordered by bytes whatever the database's collation, so that a prefix is a range of the
// primary key. A fifth of each page is free, and neither value nor version is in an index: a set
// without a ttl is then a heap-only update. One that changes a ttl is not, the price of finding
// what to sweep without reading the table.
//
// Versions come from a sequence and not from the row, since the row goes with an erase: a new one
// would begin where a reader of the old one still stands. A sequence never goes back, not even over
// a crash. It has no cache, or later writes of a key could have smaller versions.
//
// Two programs that start at once must not both create: CREATE IF NOT EXISTS alone fails then with
// a unique violation in the catalogue.
constexpr std::string_view kDdl = R"sql(
SELECT pg_advisory_xact_lock(hashtextextended('plimsoll.kv_store.install', 0));
CREATE SEQUENCE IF NOT EXISTS {schema}.versions INCREMENT BY {block} START {block} CACHE 1;
CREATE TABLE IF NOT EXISTS {schema}.entries (
  tenant     text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  value      text NOT NULL,
  version    bigint NOT NULL,
  expires_at timestamptz,
  PRIMARY KEY (tenant, key)
) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS entries_by_expiry ON {schema}.entries (expires_at)
  WHERE expires_at IS NOT NULL;
)sql";

// "Lives" by the server's clock as it stands at the row, not at the transaction's begin.
constexpr std::string_view kLives = "(e.expires_at IS NULL OR e.expires_at > clock_timestamp())";
constexpr std::string_view kExpiry = "clock_timestamp() + $4::bigint * interval '1 millisecond'";

constexpr std::string_view kGet =
    "SELECT e.value, e.version FROM {schema}.entries e "
    "WHERE e.tenant = $1 AND e.key = $2 AND {lives}";

constexpr std::string_view kGetAll =
    "SELECT e.key, e.value, e.version FROM {schema}.entries e "
    "WHERE e.tenant = $1 AND e.key = ANY ($2::text[]) AND {lives}";

// The version of a row that was there is drawn under its lock, so it is larger than the one before.
constexpr std::string_view kSet = R"sql(
INSERT INTO {schema}.entries AS e (tenant, key, value, version, expires_at)
VALUES ($1, $2, $3, nextval({versions}), {expiry})
ON CONFLICT (tenant, key) DO UPDATE SET
  value = excluded.value, version = nextval({versions}), expires_at = excluded.expires_at
RETURNING 1::bigint, e.version)sql";

// Rows are locked in the order of `ordinal`, which is that of the names of all keys: two of these
// cannot deadlock.
constexpr std::string_view kSetMany = R"sql(
WITH input AS MATERIALIZED (
  SELECT i.tenant COLLATE "C" AS tenant, i.key COLLATE "C" AS key, i.value, i.ttl, i.ordinal
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
    AS i (tenant, key, value, ttl, writes, ordinal)
), written AS (
  INSERT INTO {schema}.entries AS e (tenant, key, value, version, expires_at)
  SELECT tenant, key, value, nextval({versions}),
         clock_timestamp() + ttl * interval '1 millisecond'
  FROM input ORDER BY ordinal
  ON CONFLICT (tenant, key) DO UPDATE SET
    value = excluded.value, version = nextval({versions}), expires_at = excluded.expires_at
  RETURNING e.tenant, e.key, e.version
)
SELECT i.ordinal, w.version FROM input i JOIN written w USING (tenant, key))sql";

// Two that expect the same version: the second waits for the row, finds another version, and
// changes nothing.
constexpr std::string_view kSwap =
    "UPDATE {schema}.entries AS e SET value = $3, version = nextval({versions}), "
    "expires_at = {expiry} "
    "WHERE e.tenant = $1 AND e.key = $2 AND e.version = $5::bigint AND {lives} "
    "RETURNING e.version";

// A row whose ttl is over is no entry, so it is replaced.
constexpr std::string_view kCreate = R"sql(
INSERT INTO {schema}.entries AS e (tenant, key, value, version, expires_at)
VALUES ($1, $2, $3, nextval({versions}), {expiry})
ON CONFLICT (tenant, key) DO UPDATE SET
  value = excluded.value, version = nextval({versions}), expires_at = excluded.expires_at
  WHERE NOT {lives}
RETURNING e.version)sql";

constexpr std::string_view kErase =
    "DELETE FROM {schema}.entries e WHERE e.tenant = $1 AND e.key = $2 RETURNING {lives}";

constexpr std::string_view kList =
    "SELECT e.key, e.version FROM {schema}.entries e "
    "WHERE e.tenant = $1 AND e.key >= $2 AND e.key < $3 AND {lives} "
    "ORDER BY e.key LIMIT $4::bigint";

// Waits for nobody, so it cannot take part in a deadlock. Materialized, because a sub-select that
// is run again would lock more rows than the limit.
constexpr std::string_view kSweep = R"sql(
WITH over AS MATERIALIZED (
  SELECT e.tenant, e.key FROM {schema}.entries e
  WHERE e.expires_at <= clock_timestamp() LIMIT $1::bigint FOR UPDATE SKIP LOCKED
)
DELETE FROM {schema}.entries e USING over
WHERE e.tenant = over.tenant AND e.key = over.key AND NOT {lives})sql";

constexpr std::string_view kDurability =
    "SELECT current_setting('fsync'), current_setting('synchronous_commit')";

/// As a string in SQL.
std::string literal(std::string_view text) {
  std::string quoted = "'";
  for (const char byte : text) {
    if (byte == '\'') quoted += '\'';
    quoted += byte;
  }
  return quoted + '\'';
}

}  // namespace

Result<Statements> statements_for(std::string_view schema, Prepared prepared) {
  const auto quoted = pg::quoted_identifier(schema);
  if (!quoted) return fail(quoted.error());
  const std::string versions = literal(*quoted + ".versions");
  const auto statement = [&](std::string_view operation, std::string_view text) {
    std::string sql =
        fmt::format(fmt::runtime(text), fmt::arg("schema", *quoted), fmt::arg("lives", kLives),
                    fmt::arg("versions", versions), fmt::arg("expiry", kExpiry));
    std::string name =
        prepared == Prepared::kOnce ? pg::statement_name(operation, sql) : std::string();
    return Statement{std::move(sql), std::move(name)};
  };
  Statements all;
  all.ddl = fmt::format(kDdl, fmt::arg("schema", *quoted), fmt::arg("block", kVersionsOfAWrite));
  all.get = statement("kv_get", kGet);
  all.get_all = statement("kv_get_all", kGetAll);
  all.set = statement("kv_set", kSet);
  all.set_many = statement("kv_set_many", kSetMany);
  all.swap = statement("kv_swap", kSwap);
  all.create = statement("kv_create", kCreate);
  all.erase = statement("kv_erase", kErase);
  all.list = statement("kv_list", kList);
  all.sweep = statement("kv_sweep", kSweep);
  all.durability = {std::string(kDurability), {}};
  return all;
}

}  // namespace plimsoll::kv
