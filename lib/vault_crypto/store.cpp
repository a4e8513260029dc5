#include "lib/vault_crypto/store.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/vault_crypto/bytea.hpp"
#include "lib/vault_crypto/key_registry.hpp"

namespace plimsoll::vault {
namespace {

constexpr std::string_view kForeignKeyViolation = "23503";

// Each change finds its row, changes it, and notes that it did, in one statement. Without a row in
// `made` nothing is noted and nothing returned.
constexpr std::string_view kAdd = R"sql(
WITH made AS (
  INSERT INTO vault_secrets (tenant, path, version, master_version, envelope)
  VALUES ($2, $3, 1, $4::int, $5::bytea) ON CONFLICT (tenant, path) DO NOTHING
  RETURNING version, master_version)
INSERT INTO vault_audit (actor, action, tenant, path, secret_version, master_version)
SELECT $1, 'create', $2, $3, version, master_version FROM made RETURNING secret_version)sql";

constexpr std::string_view kReplaceRemoved = R"sql(
WITH made AS (
  UPDATE vault_secrets SET version = version + 1, row_version = row_version + 1,
    master_version = $5::int, envelope = $6::bytea, changed_at = clock_timestamp()
  WHERE tenant = $2 AND path = $3 AND version = $4::bigint AND envelope IS NULL
  RETURNING version, master_version)
INSERT INTO vault_audit (actor, action, tenant, path, secret_version, master_version)
SELECT $1, 'create', $2, $3, version, master_version FROM made RETURNING secret_version)sql";

constexpr std::string_view kUpdate = R"sql(
WITH made AS (
  UPDATE vault_secrets SET version = version + 1, row_version = row_version + 1,
    master_version = $5::int, envelope = $6::bytea, changed_at = clock_timestamp()
  WHERE tenant = $2 AND path = $3 AND version = $4::bigint AND envelope IS NOT NULL
  RETURNING version, master_version)
INSERT INTO vault_audit (actor, action, tenant, path, secret_version, master_version)
SELECT $1, 'update', $2, $3, version, master_version FROM made RETURNING secret_version)sql";

constexpr std::string_view kRemove = R"sql(
WITH made AS (
  UPDATE vault_secrets SET row_version = row_version + 1, master_version = NULL, envelope = NULL,
    changed_at = clock_timestamp()
  WHERE tenant = $2 AND path = $3 AND version = $4::bigint AND envelope IS NOT NULL
  RETURNING version)
INSERT INTO vault_audit (actor, action, tenant, path, secret_version)
SELECT $1, 'delete', $2, $3, version FROM made RETURNING secret_version)sql";

constexpr std::string_view kReadNoted = R"sql(
WITH found AS (
  SELECT version, master_version, envelope FROM vault_secrets
  WHERE tenant = $2 AND path = $3 AND envelope IS NOT NULL),
noted AS (
  INSERT INTO vault_audit (actor, action, tenant, path, secret_version, master_version)
  SELECT $1, 'read', $2, $3, version, master_version FROM found)
SELECT version, master_version, envelope FROM found)sql";

constexpr std::string_view kRead = R"sql(
SELECT version, master_version, envelope FROM vault_secrets
WHERE tenant = $1 AND path = $2 AND envelope IS NOT NULL)sql";

constexpr std::string_view kLoad = R"sql(
WITH noted AS (INSERT INTO vault_audit (actor, action, tenant) VALUES ($1, 'load', $2))
SELECT path, version, envelope FROM vault_secrets
WHERE tenant = $2 AND envelope IS NOT NULL ORDER BY path)sql";

constexpr std::string_view kState =
    "SELECT version, envelope IS NULL FROM vault_secrets WHERE tenant = $1 AND path = $2";

pg::Query query_of(std::string_view name, std::string_view sql, pg::Params params) {
  return {std::string(sql), std::move(params), std::string(name)};
}

// Parameters are put together in plain functions: GCC 12 cannot compile an initializer list inside
// a coroutine.
pg::Query change_of(std::string_view query, std::string_view sql, const std::string& actor,
                    const SecretName& name, std::vector<std::string> rest) {
  pg::Params params{actor, name.tenant, name.path};
  for (std::string& one : rest) params.emplace_back(std::move(one));
  return query_of(query, sql, std::move(params));
}

pg::Query add_query(const std::string& actor, const SecretName& name, std::uint32_t master,
                    std::string envelope) {
  return change_of("vault_add", kAdd, actor, name, {std::to_string(master), std::move(envelope)});
}
pg::Query replace_query(const std::string& actor, const SecretName& name, std::uint64_t expected,
                        std::uint32_t master, std::string envelope) {
  return change_of("vault_replace", kReplaceRemoved, actor, name,
                   {std::to_string(expected), std::to_string(master), std::move(envelope)});
}
pg::Query update_query(const std::string& actor, const SecretName& name, std::uint64_t expected,
                       std::uint32_t master, std::string envelope) {
  return change_of("vault_update", kUpdate, actor, name,
                   {std::to_string(expected), std::to_string(master), std::move(envelope)});
}
pg::Query remove_query(const std::string& actor, const SecretName& name, std::uint64_t expected) {
  return change_of("vault_remove", kRemove, actor, name, {std::to_string(expected)});
}
pg::Query read_query(bool noted, const std::string& actor, const SecretName& name) {
  return noted ? query_of("vault_read_noted", kReadNoted, {actor, name.tenant, name.path})
               : query_of("vault_read", kRead, {name.tenant, name.path});
}
pg::Query state_query(const SecretName& name) {
  return query_of("vault_state", kState, {name.tenant, name.path});
}
pg::Query load_query(const std::string& actor, const std::string& tenant) {
  return query_of("vault_load", kLoad, {actor, tenant});
}

std::string words_of(const SecretName& name) {
  return fmt::format("secret '{}' of tenant '{}'", name.path, name.tenant);
}

Result<void> check_call(const std::string& actor, const SecretName& name) {
  if (actor.empty() || actor.size() > kMaxName || actor.find('\0') != std::string::npos) {
    return fail(Errc::kInvalidArgument,
                fmt::format("actor of {} bytes; 1 to {} without a NUL byte are allowed",
                            actor.size(), kMaxName));
  }
  return check_name(name);
}

bool lost_its_key(const Error& error) { return error.sqlstate == kForeignKeyViolation; }

}  // namespace

Result<SecretStore> SecretStore::create(const KeyRing& ring, bool audit_reads, LockPolicy policy) {
  auto session = VaultSession::create(ring, policy);
  if (!session) return fail(std::move(session.error()));
  return SecretStore(ring, std::move(*session), audit_reads);
}

asio::awaitable<Result<void>> SecretStore::register_current_key(pg::Connection& connection,
                                                                std::string actor) {
  const auto ring = ring_->hold();
  auto key = ring->find(ring->current);
  if (key == nullptr) co_return fail(Errc::kNotFound, "the ring has no current master key");
  auto done = co_await register_key(connection, std::move(actor), std::move(key));
  co_return done;
}

asio::awaitable<Result<SecretStore::Sealed>> SecretStore::seal(pg::Connection& connection,
                                                               SecretName name,
                                                               std::uint64_t version,
                                                               Bytes plaintext) {
  if (plaintext.size() > kMaxMessage) {
    co_return fail(Errc::kInvalidArgument, fmt::format("secret of {} bytes; at most {} are allowed",
                                                       plaintext.size(), kMaxMessage));
  }
  const std::string context = context_of(name, version);
  std::vector<std::byte> envelope(sealed_size(plaintext.size()));
  // Another thread may use up a grant before we do; it then takes another one.
  constexpr int kTries = 8;
  for (int attempt = 1;; ++attempt) {
    const auto ring = ring_->hold();
    if (auto key = ring->find(ring->current)) {
      auto granted = co_await grant_wraps(connection, std::move(key));
      if (!granted) co_return fail(std::move(granted.error()));
    }
    auto sealed = session_.seal(bytes_of(context), plaintext, envelope);
    if (sealed) co_return Sealed{master_version_of(envelope), to_bytea(envelope)};
    if (sealed.error().code != Errc::kRefused || attempt == kTries) {
      co_return fail(std::move(sealed.error()));
    }
  }
}

asio::awaitable<Result<std::uint64_t>> SecretStore::write(pg::Connection& connection,
                                                          pg::Query query) {
  auto rows = co_await connection.query(std::move(query));
  if (!rows && lost_its_key(rows.error())) {
    co_return fail(Error{Errc::kConflict,
                         "the master key that sealed this is not registered in this database, or "
                         "has been retired there",
                         rows.error().sqlstate});
  }
  if (!rows) co_return fail(std::move(rows.error()));
  if (rows->empty()) co_return std::uint64_t{0};
  const auto version = rows->integer(0, 0);
  if (!version) co_return fail(version.error());
  co_return static_cast<std::uint64_t>(*version);
}

asio::awaitable<Result<std::uint64_t>> SecretStore::add(pg::Connection& connection,
                                                        std::string actor, SecretName name,
                                                        Bytes plaintext) {
  auto checked = check_call(actor, name);
  if (!checked) co_return fail(std::move(checked.error()));
  for (int attempt = 1;; ++attempt) {
    auto sealed = co_await seal(connection, name, 1, plaintext);
    if (!sealed) co_return fail(std::move(sealed.error()));
    const std::uint32_t used = sealed->master_version;
    auto query = add_query(actor, name, used, std::move(sealed->envelope));
    auto version = co_await write(connection, std::move(query));
    if (version && *version == 0) break;
    // Sealed before a rotation and sent after it: once more, under the key that is current now.
    const bool again = !version && lost_its_key(version.error()) && attempt == 1 &&
                       session_.current_version() != used;
    if (!again) co_return version;
  }
  auto version = co_await replace_removed(connection, std::move(actor), std::move(name), plaintext);
  co_return version;
}

asio::awaitable<Result<std::uint64_t>> SecretStore::replace_removed(pg::Connection& connection,
                                                                    std::string actor,
                                                                    SecretName name,
                                                                    Bytes plaintext) {
  auto state = co_await connection.query(state_query(name));
  if (!state) co_return fail(std::move(state.error()));
  const auto removed = state->integer(0, 0);
  if (!removed || state->text(0, 1) != "t") {
    co_return fail(Errc::kConflict, fmt::format("{} exists", words_of(name)));
  }
  const auto next = static_cast<std::uint64_t>(*removed) + 1;
  auto sealed = co_await seal(connection, name, next, plaintext);
  if (!sealed) co_return fail(std::move(sealed.error()));
  auto query =
      replace_query(actor, name, next - 1, sealed->master_version, std::move(sealed->envelope));
  auto version = co_await write(connection, std::move(query));
  if (version && *version == 0) {
    co_return fail(Errc::kConflict, fmt::format("{} was made meanwhile", words_of(name)));
  }
  co_return version;
}

asio::awaitable<Result<SecretStore::Row>> SecretStore::fetch(pg::Connection& connection,
                                                             std::string actor, SecretName name) {
  auto query = read_query(audit_reads_, actor, name);
  auto rows = co_await connection.query(std::move(query));
  if (!rows) co_return fail(std::move(rows.error()));
  if (rows->empty()) co_return fail(Errc::kNotFound, fmt::format("no {}", words_of(name)));
  const auto version = rows->integer(0, 0);
  const auto master = rows->integer(0, 1);
  if (!version || !master) co_return fail(Errc::kProtocol, "a version that is no number");
  auto envelope = from_bytea(rows->text(0, 2));
  if (!envelope) co_return fail(std::move(envelope.error()));
  // Rotation and retirement go by the column; the envelope is what is true.
  if (envelope->size() >= kKeyBlockBytes && master_version_of(*envelope) != *master) {
    co_return fail(Errc::kCorrupt, fmt::format("{}: its row names master key version {}, its "
                                               "envelope another one",
                                               words_of(name), *master));
  }
  co_return Row{static_cast<std::uint64_t>(*version), std::move(*envelope)};
}

asio::awaitable<Result<SecretStore::Read>> SecretStore::read(pg::Connection& connection,
                                                             std::string actor, SecretName name,
                                                             MutableBytes out) {
  auto checked = check_call(actor, name);
  if (!checked) co_return fail(std::move(checked.error()));
  for (int attempt = 1;; ++attempt) {
    auto row = co_await fetch(connection, actor, name);
    if (!row) co_return fail(std::move(row.error()));
    auto size = session_.open(bytes_of(context_of(name, row->version)), row->envelope, out);
    if (size) co_return Read{row->version, *size};
    const bool retired = size.error().code == Errc::kNotFound &&
                         master_version_of(row->envelope) < session_.current_version();
    if (!retired || attempt == 2) {
      co_return fail(Error{
          size.error().code, fmt::format("{}: {}", words_of(name), size.error().message), {}});
    }
  }
}

asio::awaitable<Result<std::uint64_t>> SecretStore::why_not(pg::Connection& connection,
                                                            SecretName name,
                                                            std::uint64_t expected) {
  auto state = co_await connection.query(state_query(name));
  if (!state) co_return fail(std::move(state.error()));
  if (state->empty() || state->text(0, 1) == "t") {
    co_return fail(Errc::kNotFound, fmt::format("no {}", words_of(name)));
  }
  co_return fail(Errc::kConflict, fmt::format("{} is at version {}, not {}", words_of(name),
                                              state->text(0, 0), expected));
}

asio::awaitable<Result<std::uint64_t>> SecretStore::update(pg::Connection& connection,
                                                           std::string actor, SecretName name,
                                                           std::uint64_t expected,
                                                           Bytes plaintext) {
  auto checked = check_call(actor, name);
  if (!checked) co_return fail(std::move(checked.error()));
  for (int attempt = 1;; ++attempt) {
    auto sealed = co_await seal(connection, name, expected + 1, plaintext);
    if (!sealed) co_return fail(std::move(sealed.error()));
    const std::uint32_t used = sealed->master_version;
    auto query = update_query(actor, name, expected, used, std::move(sealed->envelope));
    auto version = co_await write(connection, std::move(query));
    if (version && *version == 0) break;
    const bool again = !version && lost_its_key(version.error()) && attempt == 1 &&
                       session_.current_version() != used;
    if (!again) co_return version;
  }
  auto reason = co_await why_not(connection, std::move(name), expected);
  co_return reason;
}

asio::awaitable<Result<void>> SecretStore::remove(pg::Connection& connection, std::string actor,
                                                  SecretName name, std::uint64_t expected) {
  auto checked = check_call(actor, name);
  if (!checked) co_return fail(std::move(checked.error()));
  auto query = remove_query(actor, name, expected);
  auto version = co_await write(connection, std::move(query));
  if (!version) co_return fail(std::move(version.error()));
  if (*version != 0) co_return Result<void>{};
  auto reason = co_await why_not(connection, std::move(name), expected);
  co_return fail(std::move(reason.error()));
}

asio::awaitable<Result<std::vector<SealedSecret>>> SecretStore::load(pg::Connection& connection,
                                                                     std::string actor,
                                                                     std::string tenant) {
  auto checked = check_call(actor, SecretName{tenant, "*"});
  if (!checked) co_return fail(std::move(checked.error()));
  auto rows = co_await connection.query(load_query(actor, tenant));
  if (!rows) co_return fail(std::move(rows.error()));
  std::vector<SealedSecret> secrets;
  secrets.reserve(rows->size());
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const auto version = rows->integer(i, 1);
    if (!version) co_return fail(version.error());
    auto envelope = from_bytea(rows->text(i, 2));
    if (!envelope) co_return fail(std::move(envelope.error()));
    const SecretName name{tenant, std::string(rows->text(i, 0))};
    secrets.push_back(
        {name.path, context_of(name, static_cast<std::uint64_t>(*version)), std::move(*envelope)});
  }
  co_return secrets;
}

}  // namespace plimsoll::vault
