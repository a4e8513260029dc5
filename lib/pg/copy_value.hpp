#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::pg {

/// The two encodings of COPY that are read and written here. CSV is text to PostgreSQL, and not to
/// us: it can only be passed on as it is (CopyWriter::encoded).
enum class CopyFormat { kText, kBinary };

/// A timestamptz as PostgreSQL holds it: microseconds since 2000-01-01 00:00 UTC, from 4713 BC to
/// AD 294276. std::chrono's system clock, which counts from 1970, ends 30 years earlier.
struct Timestamp {
  std::int64_t since_2000 = 0;

  using Microseconds = std::chrono::microseconds;

  /// The ends of the clock become the infinities.
  [[nodiscard]] static Timestamp of(std::chrono::sys_time<Microseconds> time) noexcept;
  /// The infinities, and what is beyond the clock, become its ends.
  [[nodiscard]] std::chrono::sys_time<Microseconds> on_system_clock() const noexcept;

  [[nodiscard]] static constexpr Timestamp infinity() noexcept {
    return {std::numeric_limits<std::int64_t>::max()};
  }
  [[nodiscard]] static constexpr Timestamp minus_infinity() noexcept {
    return {std::numeric_limits<std::int64_t>::min()};
  }
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

using Uuid = std::array<std::uint8_t, 16>;

/// `COPY "table" ("a", "b") FROM STDIN (FORMAT binary)`. The table may be `schema.table`: at the
/// first point; all names are quoted, so a name stands for exactly itself, capitals included. No
/// columns: all of them. Errors: as quoted_identifier.
[[nodiscard]] Result<std::string> copy_in_sql(std::string_view table,
                                              const std::vector<std::string>& columns,
                                              CopyFormat format = CopyFormat::kBinary);

/// `COPY (query) TO STDOUT (FORMAT binary)`.
[[nodiscard]] std::string copy_out_sql(std::string_view query,
                                       CopyFormat format = CopyFormat::kBinary);

}  // namespace plimsoll::pg
