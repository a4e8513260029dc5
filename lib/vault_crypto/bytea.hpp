#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/bytes.hpp"

namespace plimsoll::vault {

/// PostgreSQL's hex form of a bytea, "\x0a1b".
[[nodiscard]] std::string to_bytea(Bytes bytes);

/// Errors: kProtocol (not in the hex form, as with bytea_output = escape).
[[nodiscard]] Result<std::vector<std::byte>> from_bytea(std::string_view text);

}  // namespace plimsoll::vault
