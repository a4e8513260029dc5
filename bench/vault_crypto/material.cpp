#include "bench/vault_crypto/material.hpp"

#include <fmt/format.h>

#include "lib/core/rng.hpp"

namespace plimsoll::bench {

std::array<std::byte, vault::kKeyBytes> master_material(std::uint64_t seed, std::uint32_t version) {
  Rng rng = Rng(seed).fork(version);
  std::array<std::byte, vault::kKeyBytes> material{};
  for (std::byte& byte : material) byte = static_cast<std::byte>(rng.below(256));
  return material;
}

vault::SecretName secret_name(std::size_t number) {
  return {"acme", fmt::format("service/{:06}/password", number)};
}

}  // namespace plimsoll::bench
