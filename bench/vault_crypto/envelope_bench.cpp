// Question: what does a message cost under a data key that is unwrapped already?
// Method:   one Sealer and one Opener, the caller's buffers, a context of 24 bytes. Every seal
// draws
//           its nonce, is counted against its key, and writes the whole envelope.
// Expect:   AES-GCM itself and some 60 ns; no allocation, OpenSSL's included; no nonce twice.
#include <fmt/format.h>

#include "bench/vault_crypto/cases.hpp"
#include "lib/vault_crypto/checks.hpp"
#include "lib/vault_crypto/data_key.hpp"

namespace plimsoll::bench {
namespace {

/// All that a case of this file works with.
struct Bench {
  explicit Bench(std::size_t size)
      : session(must(vault::VaultSession::create(*ring, vault::LockPolicy::kBestEffort))),
        key(must(session.new_data_key())),
        sealer(must(vault::Sealer::create(key))),
        opener(must(vault::Opener::create(key))),
        plain(payload(size)),
        sealed(vault::sealed_size(size)),
        opened(size) {}

  [[nodiscard]] bool seal() {
    return sealer.seal(vault::bytes_of(kContext), plain, sealed).has_value();
  }
  [[nodiscard]] bool open() {
    return opener.open(vault::bytes_of(kContext), sealed, opened).has_value();
  }
  /// Nothing of the measured calls was wrong, and what they left behind is right.
  void finish(Case& c, bool good, const AllocationScope& allocations) {
    c.allocations(allocations, static_cast<std::uint64_t>(c.state().iterations()));
    std::ranges::fill(opened, std::byte{0});
    if (!good || !open() || opened != plain) c.fail("wrong: the plaintext differs");
    c.state().SetBytesProcessed(c.state().iterations() * static_cast<std::int64_t>(plain.size()));
  }

  std::unique_ptr<vault::KeyRing> ring = make_ring();
  vault::VaultSession session;
  std::shared_ptr<const vault::DataKey> key;
  vault::Sealer sealer;
  vault::Opener opener;
  Buffer plain, sealed, opened;
};

/// Counted after the loop and outside its time, by the bytes that seals left behind.
void count_nonces(Case& c, Bench& bench) {
  const auto seals = scaled(1000, 20000, 100000);
  vault::checks::NonceLog log;
  for (int i = 0; i < seals; ++i) {
    if (!bench.seal()) return c.fail("wrong: a seal failed");
    log.add_seal(bench.sealed);
  }
  c.invariant("nonce_repeats", log.repeats());
}

void seal(Case& c, std::size_t size) {
  Bench bench(size);
  bool good = bench.seal();
  const AllocationScope allocations;
  for (auto _ : c.state()) good &= bench.seal();
  bench.finish(c, good, allocations);
  if (size == 64) count_nonces(c, bench);
}

void open(Case& c, std::size_t size) {
  Bench bench(size);
  bool good = bench.seal();
  const AllocationScope allocations;
  for (auto _ : c.state()) good &= bench.open();
  bench.finish(c, good, allocations);
}

void round_trip(Case& c, std::size_t size) {
  Bench bench(size);
  bool good = bench.seal();
  const AllocationScope allocations;
  for (auto _ : c.state()) {
    good &= bench.seal();
    good &= bench.open();
  }
  bench.finish(c, good, allocations);
}

}  // namespace

void register_envelope() {
  for (const std::size_t size : {64U, 1024U, 65536U, 1048576U}) {
    cpu_case(fmt::format("vault_crypto/envelope/seal/bytes:{}", size),
             [size](Case& c) { seal(c, size); });
    cpu_case(fmt::format("vault_crypto/envelope/open/bytes:{}", size),
             [size](Case& c) { open(c, size); });
    cpu_case(fmt::format("vault_crypto/envelope/round_trip/bytes:{}", size),
             [size](Case& c) { round_trip(c, size); });
  }
}

}  // namespace plimsoll::bench
