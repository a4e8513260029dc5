#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/kv_store/types.hpp"

namespace plimsoll::kv {

/// The limits of types.hpp, checked before anything is sent, so that what is wrong with one call
/// can neither fail a batch that others share nor depend on the subject. Each answers
/// kInvalidArgument with what was seen and what is allowed. `what` names the operation, e.g. "set".
///
/// All texts are UTF-8 without NUL bytes. A tenant and a key have at least one byte; a separator in
/// them is a byte like any other (see place.hpp).
[[nodiscard]] Result<void> check_tenant(std::string_view what, std::string_view tenant);
[[nodiscard]] Result<void> check_key(std::string_view what, std::string_view key);
[[nodiscard]] Result<void> check_prefix(std::string_view what, std::string_view prefix);
[[nodiscard]] Result<void> check_write(std::string_view what, const Write& write);
/// 1 to kMaxBatch, each valid. The same key twice is allowed.
[[nodiscard]] Result<void> check_keys(std::string_view what, const std::vector<std::string>& keys);
[[nodiscard]] Result<void> check_writes(std::string_view what, const std::vector<Write>& writes);
[[nodiscard]] Result<void> check_expected(std::string_view what, Version expected);
[[nodiscard]] Result<void> check_limit(std::string_view what, std::size_t limit);

}  // namespace plimsoll::kv
