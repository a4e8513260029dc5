#pragma once

#include <memory>
#include <vector>

#include "bench/harness/case.hpp"
#include "lib/vault_crypto/key_ring.hpp"
#include "lib/vault_crypto/session.hpp"

namespace plimsoll::bench {

/// Each file of this folder registers its own cases.
void register_aes256gcm();
void register_envelope();
void register_fresh_key();
void register_reads();
void register_store();
void register_rotation();

using Buffer = std::vector<std::byte>;

/// The context of every CPU case: 24 bytes, as a tenant and a path are.
inline constexpr std::string_view kContext = "tenant-0042/db/password1";

/// The value, or an exception, which fails the case.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// A master key for this run.
[[nodiscard]] std::shared_ptr<const vault::MasterKey> master_key(std::uint32_t version);

/// A ring that holds versions 1 to `versions`, the last being current.
[[nodiscard]] std::unique_ptr<vault::KeyRing> make_ring(std::uint32_t versions = 1);

/// Bytes that differ, from this run's seed.
[[nodiscard]] Buffer payload(std::size_t size);

}  // namespace plimsoll::bench
