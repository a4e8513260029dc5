#pragma once

#include <string_view>

namespace plimsoll::bench {

/// What the table says, to be held against what the library acknowledged. The cases and the tests
/// of these counts (audit_pgtest.cpp) read the same text.

/// The stock and every acknowledged insert or copied row.
inline constexpr std::string_view kRowsPresent = "SELECT count(*) FROM items";
/// What was inserted, and every acknowledged addition.
inline constexpr std::string_view kAmounts = "SELECT coalesce(sum(amount), 0)::bigint FROM items";
/// Rows whose body is not what everybody writes; $1 of fmt is its length. 0 where all is well.
inline constexpr std::string_view kBodiesAltered =
    "SELECT count(*) FROM items WHERE body <> repeat('x', {})";

}  // namespace plimsoll::bench
