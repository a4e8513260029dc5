#pragma once

#include <cstdint>
#include <string>

#include "lib/core/result.hpp"

namespace plimsoll::vault {

/// Whose secret, and which.
struct SecretName {
  std::string tenant;
  std::string path;
  auto operator<=>(const SecretName&) const = default;
};

/// The longest tenant or path, in bytes.
inline constexpr std::size_t kMaxName = 512;

/// Errors: kInvalidArgument: empty, over kMaxName, or with a NUL byte.
[[nodiscard]] Result<void> check_name(const SecretName& name);

/// The context that version `version` of a stored secret is sealed under. Each part has its length
/// in front, so no two names make one context; the version keeps an older envelope of the same
/// secret from being put back in place.
[[nodiscard]] std::string context_of(const SecretName& name, std::uint64_t version);

}  // namespace plimsoll::vault
