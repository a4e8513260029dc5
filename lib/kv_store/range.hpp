#pragma once

#include <string>
#include <string_view>

namespace plimsoll::kv {

/// The keys that begin with a prefix, as a range of bytes: from the prefix itself to, and without,
/// the smallest text that is larger than all of them. It is a range and no pattern: `%`, `_` and
/// `*` in a prefix mean themselves, and an index in the order of bytes can use it, also under
/// row-level security, where LIKE may not.

/// The end of the range, valid UTF-8: the prefix with its last code point raised by one, and what
/// could not be raised cut off. Where nothing is left, so also for the empty prefix, a text that is
/// larger than every valid key. REQUIRES: valid UTF-8.
[[nodiscard]] std::string end_of_prefix(std::string_view prefix);

/// The smallest text behind `key`: with U+0001 added, since no key holds a NUL.
[[nodiscard]] std::string just_behind(std::string_view key);

}  // namespace plimsoll::kv
