// Question: what does an envelope cost with a data key of its own, as every stored secret has one?
// Method:   each seal draws a key, names it, wraps it under the master key, expands it and seals
//           under it; each open does the way back. wrap, unwrap and rewrap are the steps alone.
// Expect:   about 2 µs beside the message: one keyed hash, one small GCM message and one key
//           expansion each way. No allocation.
#include <fmt/format.h>

#include "bench/vault_crypto/cases.hpp"
#include "lib/vault_crypto/checks.hpp"

namespace plimsoll::bench {
namespace {

struct Bench {
  explicit Bench(std::size_t size)
      : session(must(vault::VaultSession::create(*ring, vault::LockPolicy::kBestEffort))),
        plain(payload(size)),
        sealed(vault::sealed_size(size)),
        opened(size) {}

  [[nodiscard]] bool seal() {
    return session.seal(vault::bytes_of(kContext), plain, sealed).has_value();
  }
  [[nodiscard]] bool open() {
    return session.open(vault::bytes_of(kContext), sealed, opened).has_value();
  }
  void finish(Case& c, bool good, const AllocationScope& allocations) {
    c.allocations(allocations, static_cast<std::uint64_t>(c.state().iterations()));
    std::ranges::fill(opened, std::byte{0});
    if (!good || !open() || opened != plain) c.fail("wrong: the plaintext differs");
    c.state().SetItemsProcessed(c.state().iterations());
  }

  std::unique_ptr<vault::KeyRing> ring = make_ring(2);
  vault::VaultSession session;
  Buffer plain, sealed, opened;
};

void seal(Case& c, std::size_t size) {
  Bench bench(size);
  bool good = bench.seal();
  const AllocationScope allocations;
  for (auto _ : c.state()) good &= bench.seal();
  bench.finish(c, good, allocations);
  if (size != 64) return;
  vault::checks::NonceLog log;
  for (int i = 0; i < scaled(1000, 10000, 50000); ++i) {
    if (!bench.seal()) return c.fail("wrong: a seal failed");
    log.add_seal(bench.sealed);
  }
  c.invariant("nonce_repeats", log.repeats());
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

void wrap(Case& c) {
  Bench bench(64);
  bool good = bench.seal();
  for (auto _ : c.state()) good &= bench.session.new_data_key().has_value();
  if (!good) c.fail("wrong: a data key could not be made");
  c.state().SetItemsProcessed(c.state().iterations());
}

void unwrap(Case& c) {
  Bench bench(64);
  bool good = bench.seal();
  for (auto _ : c.state()) good &= bench.session.unwrap(bench.sealed).has_value();
  if (!good) c.fail("wrong: a data key could not be unwrapped");
  c.state().SetItemsProcessed(c.state().iterations());
}

void rewrap(Case& c) {
  Bench bench(64);
  bool good = bench.seal();
  vault::KeyBlock block{};
  const AllocationScope allocations;
  for (auto _ : c.state()) {
    auto next = bench.session.rewrap(bench.sealed);
    good &= next.has_value();
    if (next) block = *next;
  }
  std::ranges::copy(block, bench.sealed.begin());
  bench.finish(c, good, allocations);
}

}  // namespace

void register_fresh_key() {
  const auto add = [](std::string_view what, std::size_t size, void (*body)(Case&, std::size_t)) {
    cpu_case(fmt::format("vault_crypto/fresh_key/{}/bytes:{}", what, size),
             [=](Case& c) { body(c, size); });
  };
  for (const std::size_t size : {64U, 1024U, 65536U, 1048576U}) {
    // In the short form the message hides the key's cost from 64 KiB on.
    if (bench::size() != Size::kFull && size > 1024) continue;
    add("seal", size, seal);
    add("open", size, open);
    add("round_trip", size, round_trip);
  }
  cpu_case("vault_crypto/data_key/wrap", wrap);
  cpu_case("vault_crypto/data_key/unwrap", unwrap);
  cpu_case("vault_crypto/data_key/rewrap", rewrap);
}

}  // namespace plimsoll::bench
