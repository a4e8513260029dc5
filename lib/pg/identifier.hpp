#pragma once

#include <string>
#include <string_view>

#include "lib/core/result.hpp"

namespace plimsoll::pg {

/// `name` as an SQL identifier in double quotes: it stands for exactly itself, capitals included.
/// Errors: kInvalidArgument (empty, over 63 bytes, a NUL byte).
[[nodiscard]] Result<std::string> quoted_identifier(std::string_view name);

/// A prepared statement's name made of what it does and a hash of its text: two texts do not meet
/// under one name on one connection.
[[nodiscard]] std::string statement_name(std::string_view operation, std::string_view sql);

}  // namespace plimsoll::pg
