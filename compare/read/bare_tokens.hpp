#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::compare {

/// Google Benchmark prints a counter that is not finite as a bare NaN, Infinity or -Infinity (older
/// ones nan, inf, -nan, -inf), which JSON does not know. Replaces each, outside of strings, by a
/// marker string of the same length, so that offsets in error messages stay true. One pass in
/// place; a text without such tokens is left alone.
void mark_bare_tokens(std::string& text);

/// The number behind a marker string, or nullopt for any other string.
[[nodiscard]] std::optional<double> marked_number(std::string_view text);

}  // namespace plimsoll::compare
