#include "bench/vault_crypto/stage.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <map>

#include "bench/harness/infra.hpp"
#include "bench/vault_crypto/material.hpp"
#include "lib/vault_crypto/bytea.hpp"
#include "lib/vault_crypto/rotation.hpp"
#include "lib/vault_crypto/store_schema.hpp"

namespace plimsoll::bench {

Caller::Caller(const std::string& dsn) {
  pg::Config config;
  config.dsn = dsn;
  connection_ = must(run(pg::Connection::connect(std::move(config))));
}

Stage::Stage(std::size_t secrets) : secrets_(secrets), server_(must(postgres())) {
  static std::atomic<int> number{0};
  schema_.emplace(must(fixtures::Schema::create(server_, fmt::format("vault_{:03}", ++number))));
  client_.emplace(must(fixtures::Client::connect(dsn())));
  sql(std::string(vault::store_ddl()));
  refill();
}

void Stage::sql(const std::string& text) { must(client_->query(text)); }

std::int64_t Stage::number(const std::string& text) {
  const auto rows = must(client_->query(text));
  std::int64_t value = 0;
  const std::string& found = rows.at(0).at(0);
  const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), value);
  if (error != std::errc{} || end != found.data() + found.size()) {
    throw std::runtime_error(fmt::format("'{}' is not a whole number: {}", found, text));
  }
  return value;
}

void Stage::refill() {
  ring_ = make_ring(1);
  master_version_ = 1;
  auto session = must(vault::VaultSession::create(*ring_, vault::LockPolicy::kBestEffort));
  // The audit trail refuses TRUNCATE as it should; here its trigger is out of the way.
  sql("ALTER TABLE vault_audit DISABLE TRIGGER append_only; TRUNCATE vault_secrets, vault_keys, "
      "vault_retired_keys, vault_audit, vault_lease RESTART IDENTITY; "
      "ALTER TABLE vault_audit ENABLE TRIGGER append_only");
  sql(fmt::format("INSERT INTO vault_keys (version, key_id) VALUES (1, '{}')",
                  vault::to_bytea(ring_->hold()->find(1)->id())));
  constexpr std::size_t kRows = 1000;
  for (std::size_t first = 0; first < secrets_; first += kRows) {
    std::string insert =
        "INSERT INTO vault_secrets (tenant, path, version, master_version, envelope) VALUES ";
    for (std::size_t i = first; i < std::min(first + kRows, secrets_); ++i) {
      const auto name = secret_name(i);
      const auto plain = vault::checks::telling_plaintext(name.path, 1, kSecretBytes);
      Buffer envelope(vault::sealed_size(plain.size()));
      must(session.seal(vault::bytes_of(vault::context_of(name, 1)), plain, envelope));
      fmt::format_to(std::back_inserter(insert), "{}('{}', '{}', 1, 1, '{}')",
                     i == first ? "" : ",", name.tenant, name.path, vault::to_bytea(envelope));
    }
    sql(insert);
  }
  sql("ANALYZE vault_secrets");
}

void Stage::log_nonces(vault::checks::NonceLog& log) {
  for (const auto& row : must(client_->query("SELECT envelope FROM vault_secrets"))) {
    log.add_stored(must(vault::from_bytea(row.at(0))));
  }
}

std::uint64_t Stage::rotate(Caller& caller, const DuringRotation& during) {
  const auto call = [](const std::function<void()>& hook) {
    if (hook) hook();
  };
  const std::uint32_t next = master_version_ + 1;
  must(ring_->add(master_key(next)));
  vault::RotationOptions options{
      .to = next, .actor = "bench", .policy = vault::LockPolicy::kBestEffort};
  auto rotation =
      must(caller.run(vault::Rotation::begin(caller.connection(), *ring_, std::move(options))));
  do call(during.batch);
  while (during.batch && must(caller.run(rotation->step())));
  const auto sweep = must(caller.run(rotation->sweep()));
  if (!sweep.unreadable.empty()) throw std::runtime_error("wrong: " + sweep.unreadable.front());
  call(during.retiring);
  (void)must(caller.run(rotation->retire()));
  call(during.retired);
  must(caller.run(rotation->end()));
  master_version_ = next;
  return sweep.rewrapped;
}

std::int64_t Stage::left_behind() {
  // Byte 40 of an envelope, from 1 here, is the first of its master key's version.
  const auto moved = number(fmt::format(
      "SELECT count(*) FROM vault_secrets WHERE substr(envelope, 41, 4) = int4send({0}) "
      "AND master_version = {0}",
      master_version_));
  return static_cast<std::int64_t>(secrets_) - moved;
}

std::int64_t Stage::rewraps_unaccounted() {
  const auto due = static_cast<std::int64_t>(secrets_) * (master_version_ - 1);
  const auto moves = [this](std::string_view which) {
    return number(fmt::format(
        "SELECT count(*) FROM (SELECT count(*) FILTER (WHERE action = 'rewrap') AS rewraps, "
        "count(*) FILTER (WHERE action = 'update') AS updates, master_version "
        "BETWEEN 2 AND {} AS due FROM vault_audit WHERE action IN ('rewrap', 'update') GROUP BY "
        "tenant, path, master_version) AS moves WHERE {}",
        master_version_, which));
  };
  return due - moves("due AND (rewraps = 1 OR (rewraps = 0 AND updates > 0))") +
         moves("NOT due AND rewraps > 0");
}

std::int64_t Stage::updates_unaccounted(std::int64_t made) {
  return std::abs(number("SELECT count(*) FROM vault_audit WHERE action = 'update'") - made) +
         std::abs(number("SELECT sum(version - 1) FROM vault_secrets") - made);
}

std::int64_t Stage::wrong_plaintexts() {
  std::map<std::string, std::string, std::less<>> versions;
  for (auto& row : must(client_->query("SELECT path, version FROM vault_secrets"))) {
    versions.emplace(row.at(0), row.at(1));
  }
  Caller caller(dsn());
  auto store = must(vault::SecretStore::create(*ring_, false, vault::LockPolicy::kBestEffort));
  const auto tenant = secret_name(0).tenant;
  const auto stored = must(caller.run(store.load(caller.connection(), "bench", tenant)));
  std::int64_t wrong = static_cast<std::int64_t>(secrets_) -
                       static_cast<std::int64_t>(stored.size());  // Missing ones are wrong, too.
  Buffer out(kSecretBytes);
  for (const auto& secret : stored) {
    const auto opened = store.session().open(vault::bytes_of(secret.context), secret.envelope, out);
    const auto seen = vault::checks::inspect(secret.name, out);
    const auto version = versions.find(secret.name);
    const bool right = opened && seen.kind == vault::checks::Reading::Kind::kRight &&
                       version != versions.end() && version->second == fmt::to_string(seen.version);
    wrong += right ? 0 : 1;
  }
  return wrong;
}

}  // namespace plimsoll::bench
