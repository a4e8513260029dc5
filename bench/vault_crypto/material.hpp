#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lib/vault_crypto/bytes.hpp"
#include "lib/vault_crypto/secret_name.hpp"

namespace plimsoll::bench {

/// The bytes of a master key, from the run's seed: two processes that know the seed have the same.
[[nodiscard]] std::array<std::byte, vault::kKeyBytes> master_material(std::uint64_t seed,
                                                                      std::uint32_t version);

/// The secrets of the database cases, and their plaintexts (checks::telling_plaintext).
[[nodiscard]] vault::SecretName secret_name(std::size_t number);
inline constexpr std::size_t kSecretBytes = 64;

/// The first so many are updated again and again while others read them.
inline constexpr std::size_t kChanging = 4;

}  // namespace plimsoll::bench
