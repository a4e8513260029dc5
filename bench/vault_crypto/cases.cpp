#include "bench/vault_crypto/cases.hpp"

#include "bench/harness/infra.hpp"
#include "bench/vault_crypto/material.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::bench {

const std::string_view kGroup = "vault_crypto";

std::shared_ptr<const vault::MasterKey> master_key(std::uint32_t version) {
  return must(vault::MasterKey::create(version, master_material(seed(), version), vault::kMaxSeals,
                                       vault::LockPolicy::kBestEffort));
}

std::unique_ptr<vault::KeyRing> make_ring(std::uint32_t versions) {
  auto ring = std::make_unique<vault::KeyRing>();
  for (std::uint32_t version = 1; version <= versions; ++version) {
    must(ring->add(master_key(version)));
  }
  must(ring->make_current(versions));
  return ring;
}

Buffer payload(std::size_t size) {
  Rng rng(seed());
  Buffer bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
  return bytes;
}

void register_cases() {
  needs_postgres();
  register_aes256gcm();
  register_envelope();
  register_fresh_key();
  register_reads();
  register_store();
  register_rotation();
}

}  // namespace plimsoll::bench
