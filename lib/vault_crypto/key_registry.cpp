#include "lib/vault_crypto/key_registry.hpp"

#include <fmt/format.h>

#include <vector>

#include "lib/vault_crypto/bytea.hpp"

namespace plimsoll::vault {
namespace {

constexpr std::string_view kRegister = R"sql(
WITH made AS (
  INSERT INTO vault_keys (version, key_id) SELECT $2::int, $3::bytea
  WHERE NOT EXISTS (SELECT FROM vault_retired_keys WHERE version = $2::int OR key_id = $3::bytea)
  ON CONFLICT DO NOTHING RETURNING version)
INSERT INTO vault_audit (actor, action, master_version)
SELECT $1, 'register key', version FROM made)sql";

constexpr std::string_view kGrantWraps = R"sql(
UPDATE vault_keys SET wraps_granted = wraps_granted + $3::bigint
WHERE version = $1::int AND key_id = $2::bytea AND wraps_granted + $3::bigint <= 4294967296
RETURNING wraps_granted)sql";

// Parameters are put together in plain functions: GCC 12 cannot compile an initializer list inside
// a coroutine.
std::vector<pg::Query> register_queries(const std::string& actor, const MasterKey& key) {
  const std::string version = std::to_string(key.version());
  const std::string id = to_bytea(key.id());
  std::vector<pg::Query> queries;
  queries.push_back(lock_keys_query());
  queries.push_back({std::string(kRegister), {actor, version, id}, {}});
  queries.push_back(
      {"SELECT key_id = $2::bytea FROM vault_keys WHERE version = $1::int", {version, id}, {}});
  return queries;
}

pg::Query grant_query(const MasterKey& key) {
  return {std::string(kGrantWraps),
          {std::to_string(key.version()), to_bytea(key.id()), std::to_string(kGrant)},
          "vault_grant"};
}

}  // namespace

pg::Query lock_keys_query() {
  return {"SELECT pg_advisory_xact_lock('vault_keys'::regclass::oid::bigint)", {}, {}};
}

asio::awaitable<Result<void>> register_key(pg::Connection& connection, std::string actor,
                                           std::shared_ptr<const MasterKey> key) {
  auto queries = register_queries(actor, *key);
  auto done = co_await connection.pipeline(std::move(queries));
  for (auto& result : done) {
    if (!result) co_return fail(std::move(result.error()));
  }
  const pg::Rows& found = *done.back();
  if (found.text(0, 0) == "t") co_return Result<void>{};
  co_return fail(
      Errc::kConflict,
      found.empty()
          ? fmt::format("master key version {} has been retired in this database, or its "
                        "key stands there under another version",
                        key->version())
          : fmt::format("master key version {} is another key in this database", key->version()));
}

asio::awaitable<Result<void>> grant_wraps(pg::Connection& connection,
                                          std::shared_ptr<const MasterKey> key) {
  if (!key->wraps_are_granted() || key->budget().left() > 0) co_return Result<void>{};
  auto query = grant_query(*key);
  auto granted = co_await connection.query(std::move(query));
  if (!granted) co_return fail(std::move(granted.error()));
  if (granted->empty()) {
    co_return fail(
        Errc::kRefused,
        fmt::format("master key version {} has no wraps left in this database, or is not "
                    "registered there; rotate it",
                    key->version()));
  }
  key->budget().give_back(kGrant);
  co_return Result<void>{};
}

}  // namespace plimsoll::vault
