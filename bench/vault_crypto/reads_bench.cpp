// Question: what does a secret cost at the moment it is needed, out of the boot bag and opened for
//           the request?
// Method:   names drawn before the loop, seed fixed, Zipf-like use is not assumed: every secret is
//           as likely. Each read asks for the newest bag, finds the name and looks at the value.
//           The request-time reads have room for every data key (hit) or for 4 (miss: each
//           unwraps). Behind the loop, not measured, another thread swaps bags under the reader.
// Expect:   the boot bag at most 10 ns while it fits the cache; a hit one small GCM open; a miss
//           one unwrap more. Plaintexts are checked against what was sealed: torn 0, wrong 0.
#include <fmt/format.h>

#include <array>

#include "bench/vault_crypto/bag_swap.hpp"
#include "bench/vault_crypto/cases.hpp"
#include "lib/core/rng.hpp"
#include "lib/vault_crypto/bags.hpp"
#include "lib/vault_crypto/checks.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::size_t kValueBytes = 64;
constexpr std::size_t kDraws = 4096;

std::string name_of(std::size_t i) { return fmt::format("tenant-{:04}/db/password", i); }

/// Secrets, sealed once for all cases of a size, and the order in which they are read.
struct Secrets {
  explicit Secrets(std::size_t count)
      : session(must(vault::VaultSession::create(*ring, vault::LockPolicy::kBestEffort))),
        all(sealed(count, 0)) {
    Rng rng(seed());
    for (std::size_t i = 0; i < kDraws; ++i) order.push_back(rng.below(count));
  }

  /// Every secret in its version for bag number `bag`; the loops read bag 0.
  std::vector<vault::SealedSecret> sealed(std::size_t count, std::size_t bag) {
    std::vector<vault::SealedSecret> secrets;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = name_of(i);
      const auto plain =
          vault::checks::telling_plaintext(name, version_of(i, count, bag), kValueBytes);
      Buffer envelope(vault::sealed_size(plain.size()));
      must(session.seal(vault::bytes_of(name), plain, envelope));
      secrets.push_back({name, name, std::move(envelope)});
    }
    return secrets;
  }
  static std::uint64_t version_of(std::size_t i, std::size_t count, std::size_t bag) {
    return bag * count + i + 1;
  }

  std::unique_ptr<vault::KeyRing> ring = make_ring();
  vault::VaultSession session;
  std::vector<vault::SealedSecret> all;
  std::vector<std::size_t> order;
};

/// Adds what a reader saw to the counts.
struct Seen {
  std::int64_t torn = 0, wrong = 0;
  void add(std::string_view name, std::uint64_t version, vault::Bytes plaintext) {
    const auto reading = vault::checks::inspect(name, plaintext);
    torn += reading.kind == vault::checks::Reading::Kind::kTorn ? 1 : 0;
    wrong +=
        reading.kind == vault::checks::Reading::Kind::kWrong ||
                (reading.kind == vault::checks::Reading::Kind::kRight && reading.version != version)
            ? 1
            : 0;
  }
  void report(Case& c) const {
    c.invariant("torn_reads", torn);
    c.invariant("silent_wrong_plaintexts", wrong);
  }
};

/// Two secrets out of one bag must be of that bag both.
void swap_boot_bags(Case& c, Secrets& secrets, std::size_t count,
                    vault::Published<vault::BootBag>& bag, Seen& seen) {
  const std::array all{secrets.all, secrets.sealed(count, 1)};
  vault::Published<vault::BootBag>::Reader reader(bag);
  auto session = must(vault::VaultSession::create(*secrets.ring, vault::LockPolicy::kBestEffort));
  std::size_t next = 0;
  swap_under_reads(
      c, bag,
      [&](std::size_t number) {
        return must(vault::BootBag::open(session, all[number], vault::LockPolicy::kBestEffort));
      },
      [&] {
        const vault::BootBag& now = reader.get();
        const std::size_t i = next++ % (count - 1) + 1;
        const auto first = now.find(name_of(0)).value_or(vault::Bytes{});
        const bool second_bag =
            vault::checks::inspect(name_of(0), first).version == Secrets::version_of(0, count, 1);
        seen.add(name_of(0), Secrets::version_of(0, count, second_bag ? 1 : 0), first);
        seen.add(name_of(i), Secrets::version_of(i, count, second_bag ? 1 : 0),
                 now.find(name_of(i)).value_or(vault::Bytes{}));
        return second_bag;
      });
}

void swap_sealed_bags(Case& c, Secrets& secrets, std::size_t count,
                      vault::Published<vault::SealedBag>& bag, vault::RequestReader& reader,
                      Seen& seen) {
  const std::array all{secrets.all, secrets.sealed(count, 1)};
  Buffer out(kValueBytes);
  std::size_t next = 0;
  swap_under_reads(
      c, bag, [&](std::size_t number) { return must(vault::SealedBag::of(all[number])); },
      [&] {
        const std::size_t i = next++ % count;
        must(reader.read(name_of(i), out));
        const bool second_bag =
            vault::checks::inspect(name_of(i), out).version == Secrets::version_of(i, count, 1);
        seen.add(name_of(i), Secrets::version_of(i, count, second_bag ? 1 : 0), out);
        return second_bag;
      });
}

void boot_bag_read(Case& c, std::size_t count) {
  Secrets secrets(count);
  vault::Published<vault::BootBag> bag(
      must(vault::BootBag::open(secrets.session, secrets.all, vault::LockPolicy::kBestEffort)));
  vault::Published<vault::BootBag>::Reader reader(bag);
  std::vector<std::string_view> names;
  for (const std::size_t i : secrets.order) names.push_back(secrets.all[i].name);
  std::size_t next = 0, bytes = 0;
  const AllocationScope allocations;
  for (auto _ : c.state()) {
    const auto value = reader.get().find(names[next++ % kDraws]);
    bytes += value ? value->size() : 0;
    benchmark::DoNotOptimize(bytes);
  }
  c.allocations(allocations, static_cast<std::uint64_t>(c.state().iterations()));
  if (bytes != static_cast<std::size_t>(c.state().iterations()) * kValueBytes) {
    c.fail("wrong: a secret was not found");
  }
  Seen seen;
  for (std::size_t i = 0; i < count; ++i) {
    seen.add(name_of(i), i + 1, reader.get().find(name_of(i)).value_or(vault::Bytes{}));
  }
  swap_boot_bags(c, secrets, count, bag, seen);
  seen.report(c);
  c.state().SetItemsProcessed(c.state().iterations());
}

void request_read(Case& c, std::size_t count, std::size_t cached_keys, bool hits) {
  Secrets secrets(count);
  vault::Published<vault::SealedBag> bag(must(vault::SealedBag::of(secrets.all)));
  auto reader = must(vault::RequestReader::create(bag, *secrets.ring, cached_keys,
                                                  vault::LockPolicy::kBestEffort));
  Buffer out(kValueBytes);
  Seen seen;
  for (std::size_t i = 0; i < count; ++i) {  // Checks every secret, and warms the cache.
    must(reader.read(name_of(i), out));
    seen.add(name_of(i), i + 1, out);
  }
  const auto warm = reader.unwraps();
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kDraws; ++i) {
    names.push_back(secrets.all[hits ? secrets.order[i] : i % count].name);
  }
  std::size_t next = 0;
  bool good = true;
  for (auto _ : c.state()) good &= reader.read(names[next++ % kDraws], out).has_value();
  if (!good) c.fail("wrong: a read failed");
  const auto misses = static_cast<std::int64_t>(reader.unwraps() - warm);
  if (misses != (hits ? 0 : c.state().iterations())) {
    c.fail(hits ? "wrong: a read that should hit has missed"
                : "wrong: a read that should miss has hit");
  }
  swap_sealed_bags(c, secrets, count, bag, reader, seen);
  seen.report(c);
  c.state().SetItemsProcessed(c.state().iterations());
}

}  // namespace

void register_reads() {
  const std::size_t many = scaled<std::size_t>(100, 1000, 1000);
  for (const std::size_t count : {std::size_t{64}, many}) {
    cpu_case(fmt::format("vault_crypto/boot_bag/read/secrets:{}", count),
             [count](Case& c) { boot_bag_read(c, count); });
  }
  cpu_case("vault_crypto/request/read_hit/secrets:16",
           [](Case& c) { request_read(c, 16, 256, true); });
  cpu_case("vault_crypto/request/read_miss/secrets:64",
           [](Case& c) { request_read(c, 64, 4, false); });
}

}  // namespace plimsoll::bench
