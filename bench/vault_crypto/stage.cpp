#include "bench/vault_crypto/stage.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>

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
  schema_.emplace(must(fixtures::Schema::create(server_, fmt::format("vault_{}", ++number))));
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

std::uint64_t Stage::rotate(Caller& caller) {
  const std::uint32_t next = ring_->hold()->current + 1;
  must(ring_->add(master_key(next)));
  vault::RotationOptions options{
      .to = next, .actor = "bench", .policy = vault::LockPolicy::kBestEffort};
  auto rotation =
      must(caller.run(vault::Rotation::begin(caller.connection(), *ring_, std::move(options))));
  const auto sweep = must(caller.run(rotation->sweep()));
  if (!sweep.unreadable.empty()) throw std::runtime_error("wrong: " + sweep.unreadable.front());
  (void)must(caller.run(rotation->retire()));
  must(caller.run(rotation->end()));
  return sweep.rewrapped;
}

std::int64_t Stage::wrong_plaintexts() {
  Caller caller(dsn());
  auto store = must(vault::SecretStore::create(*ring_, false, vault::LockPolicy::kBestEffort));
  const auto tenant = secret_name(0).tenant;
  const auto stored = must(caller.run(store.load(caller.connection(), "bench", tenant)));
  std::int64_t wrong = static_cast<std::int64_t>(secrets_) -
                       static_cast<std::int64_t>(stored.size());  // Missing ones are wrong, too.
  Buffer out(kSecretBytes);
  for (const auto& secret : stored) {
    const auto opened = store.session().open(vault::bytes_of(secret.context), secret.envelope, out);
    const bool right = opened && vault::checks::inspect(secret.name, out).kind ==
                                     vault::checks::Reading::Kind::kRight;
    wrong += right ? 0 : 1;
  }
  return wrong;
}

}  // namespace plimsoll::bench
