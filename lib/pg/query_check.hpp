#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/core/result.hpp"
#include "lib/pg/query.hpp"

namespace plimsoll::pg {

/// Most parameters that Bind's 16-bit count can say.
inline constexpr std::size_t kMaxParams = 65535;
/// A longer name would be the same as another with the same beginning (NAMEDATALEN).
inline constexpr std::size_t kMaxNameBytes = 63;
/// PostgreSQL drops a connection that announces a longer message (its MaxAllocSize).
inline constexpr std::size_t kMaxMessageBytes = 0x3fffffff;

/// Refuses what libpq would cut off or the server would answer by hanging up: a NUL byte in text,
/// too many parameters, a message too long. `max_message` is a parameter for the tests' sake.
///
/// Cost: one pass over the text. Errors: kInvalidArgument, which says where and how much; values
/// are never quoted.
[[nodiscard]] Result<void> check(const Query& query, std::size_t max_message = kMaxMessageBytes);
[[nodiscard]] Result<void> check_script(const std::string& sql,
                                        std::size_t max_message = kMaxMessageBytes);

/// Bytes of all parameter values.
[[nodiscard]] std::uint64_t parameter_bytes(const Query& query) noexcept;

}  // namespace plimsoll::pg
