#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace plimsoll {

/// Where `text` is not what a PostgreSQL text may hold: the first byte that is NUL or does not
/// begin a whole UTF-8 sequence. Overlong forms, surrogates and what lies beyond U+10FFFF are none.
/// nullopt where all is well. Cost: ASCII goes by eight bytes.
[[nodiscard]] std::optional<std::size_t> utf8_fault(std::string_view text) noexcept;

}  // namespace plimsoll
