// Question: what do one read, one update and one whole rotation cost one caller on PostgreSQL?
// Method:   one connection, one call in flight. A read goes to a secret drawn before the loop and
// is
//           not noted in the audit trail; an update replaces the version before it and is. A
//           rotation moves every secret to the next master key and retires the old one. The work
//           cases do a fixed number on fresh pages: statements, round trips, rows, bytes; WAL,
//           commits, fsyncs.
// Expect:   a read about one round trip, an update one fsync more, a rotation one commit for each
// 256
//           secrets. What is stored afterwards opens to what was stored before.
#include <fmt/format.h>

#include <map>

#include "bench/harness/wal.hpp"
#include "bench/vault_crypto/material.hpp"
#include "bench/vault_crypto/stage.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::bench {
namespace {

using vault::checks::telling_plaintext;

/// What a case keeps from one repetition to the next: Google Benchmark calls a body several times.
struct Set {
  explicit Set(std::size_t secrets) : stage(secrets), caller(stage.dsn()), versions(secrets, 1) {}

  void connect() {
    store.emplace(
        must(vault::SecretStore::create(stage.ring(), false, vault::LockPolicy::kBestEffort)));
  }
  void read(std::size_t i) {
    const auto name = secret_name(i);
    const auto read = must(caller.run(store->read(caller.connection(), "bench", name, out)));
    const auto seen = vault::checks::inspect(name.path, out);
    if (read.size != kSecretBytes || seen.kind != vault::checks::Reading::Kind::kRight ||
        seen.version != read.version) {
      throw std::runtime_error("wrong: a secret reads as something else");
    }
  }
  void update(std::size_t i) {
    const auto name = secret_name(i);
    const auto plain = telling_plaintext(name.path, versions[i] + 1, kSecretBytes);
    versions[i] =
        must(caller.run(store->update(caller.connection(), "bench", name, versions[i], plain)));
  }

  Stage stage;
  Caller caller;
  std::optional<vault::SecretStore> store;
  std::vector<std::uint64_t> versions;
  Buffer out = Buffer(kSecretBytes);
};

Set& set_of(const std::string& name, std::size_t secrets) {
  static std::map<std::string, std::unique_ptr<Set>> all;
  auto& set = all[name];
  if (!set) set = std::make_unique<Set>(secrets);
  set->connect();
  return *set;
}

void read(Case& c, std::size_t secrets) {
  Set& set = set_of(c.name(), secrets);
  Rng rng(seed());
  for (auto _ : c.state()) set.read(rng.below(secrets));
  c.state().SetItemsProcessed(c.state().iterations());
}

void update(Case& c, std::size_t secrets) {
  Set& set = set_of(c.name(), secrets);
  Rng rng(seed());
  const auto updates = [&set] {
    return set.stage.number("SELECT count(*) FROM vault_audit WHERE action = 'update'");
  };
  const auto before = updates();
  for (auto _ : c.state()) set.update(rng.below(secrets));
  c.invariant("updates_unaccounted", updates() - before - c.state().iterations());
  c.invariant("silent_wrong_plaintexts", set.stage.wrong_plaintexts());
  c.state().SetItemsProcessed(c.state().iterations());
}

void rotate(Case& c, std::size_t secrets) {
  Set& set = set_of(c.name(), secrets);
  std::uint64_t rewrapped = 0;
  vault::checks::NonceLog nonces;
  set.stage.log_nonces(nonces);
  for (auto _ : c.state()) rewrapped += set.stage.rotate(set.caller);
  set.stage.log_nonces(nonces);
  const auto expected = static_cast<std::uint64_t>(c.state().iterations()) * secrets;
  if (rewrapped != expected) c.fail("wrong: a rotation says that it left secrets behind");
  c.invariant("secrets_left_behind", set.stage.left_behind());
  c.invariant("rewraps_unaccounted", set.stage.rewraps_unaccounted());
  c.invariant("silent_wrong_plaintexts", set.stage.wrong_plaintexts());
  c.invariant("nonce_repeats", nonces.repeats());
  c.state().SetItemsProcessed(static_cast<std::int64_t>(rewrapped));
}

/// `operations` units of work, counted by the connection that does them.
void count_work(Case& c, Set& set, std::uint64_t operations, const std::function<void()>& work) {
  const auto before = set.caller.connection().counters();
  work();
  const auto& after = set.caller.connection().counters();
  const auto per_operation = [&](std::string_view metric, std::uint64_t from, std::uint64_t to) {
    c.counter(metric, static_cast<double>(to - from) / static_cast<double>(operations));
  };
  per_operation("statements_per_op", before.statements, after.statements);
  per_operation("round_trips_per_op", before.round_trips, after.round_trips);
  per_operation("rows_per_op", before.rows, after.rows);
}

void work_update(Case& c) {
  constexpr std::size_t kUpdates = 200;
  Set set(kUpdates);
  set.connect();
  count_work(c, set, kUpdates, [&] {
    for (std::size_t i = 0; i < kUpdates; ++i) set.update(i);
  });
  count_wal(c, set.stage.server(),
            {.load = [&]() -> Result<void> {
               set.stage.refill();
               return {};
             },
             .run = [&]() -> Result<std::uint64_t> {
               set.versions.assign(kUpdates, 1);
               set.connect();
               Caller fresh(set.stage.dsn());
               for (std::size_t i = 0; i < kUpdates; ++i) {
                 const auto name = secret_name(i);
                 const auto plain = telling_plaintext(name.path, 2, kSecretBytes);
                 must(fresh.run(set.store->update(fresh.connection(), "bench", name, 1, plain)));
               }
               return kUpdates;
             }});
}

void work_rotate(Case& c) {
  constexpr std::size_t kSecrets = 1000;
  Set set(kSecrets);
  count_work(c, set, kSecrets, [&] { set.stage.rotate(set.caller); });
  count_wal(c, set.stage.server(),
            {.load = [&]() -> Result<void> {
               set.stage.refill();
               return {};
             },
             .run = [&]() -> Result<std::uint64_t> {
               Caller fresh(set.stage.dsn());
               return set.stage.rotate(fresh);
             }});
}

}  // namespace

void register_store() {
  const auto secrets = scaled<std::size_t>(50, 1000, 1000);
  const auto add = [secrets](std::string_view what, void (*body)(Case&, std::size_t)) {
    cpu_case(fmt::format("vault_crypto/{}/secrets:{}", what, secrets),
             [=](Case& c) { body(c, secrets); }, {Resource::kDb, true});
  };
  add("store/read", read);
  add("store/update", update);
  add("rotation/whole", rotate);
  if (size() == Size::kSmoke) return;  // Their counts need their full size.
  work_case("vault_crypto/store/work_update", work_update);
  work_case("vault_crypto/rotation/work_rewrap", work_rotate);
}

}  // namespace plimsoll::bench
