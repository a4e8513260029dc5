#pragma once

#include <string>
#include <string_view>

#include "lib/core/result.hpp"

namespace plimsoll::kv {

/// Where a listing goes on, as a text that a caller may hand out and take back: which tenant and
/// prefix it belongs to, and the key after which the next page begins.
///
/// It is no secret and no permission: what it says is checked for being our own and undamaged, and
/// a listing only ever reads the caller's tenant, whatever stands in the cursor.
[[nodiscard]] std::string encode_cursor(std::string_view tenant, std::string_view prefix,
                                        std::string_view last_key);

/// The key after which to go on. Errors: kInvalidArgument (no cursor, or a damaged one), kRefused
/// (a cursor of another tenant or of another prefix).
[[nodiscard]] Result<std::string> decode_cursor(std::string_view cursor, std::string_view tenant,
                                                std::string_view prefix);

}  // namespace plimsoll::kv
