#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "lib/core/result.hpp"

struct pg_result;  // libpq's PGresult.

namespace plimsoll::pg {

/// Rows of one statement. Values are views into this object, which needs no connection any more.
///
/// Cost: one allocation by libpq for the rows; every accessor is O(1) and allocates nothing.
/// Thread safety: const calls from any thread.
class Rows {
 public:
  /// No rows and no columns.
  Rows() noexcept = default;
  /// Takes ownership.
  explicit Rows(pg_result* result) noexcept : result_(result) {}

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t columns() const noexcept;
  /// The column's name as the server gave it; empty when there is no such column.
  [[nodiscard]] std::string_view column_name(std::size_t column) const noexcept;

  /// The value as text; nullopt for NULL and for a row or column that does not exist.
  [[nodiscard]] std::optional<std::string_view> value(std::size_t row,
                                                      std::size_t column) const noexcept;
  /// The value as text; empty for NULL.
  [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const noexcept;
  /// The value as a number. Errors: kInvalidArgument when it is absent, NULL or not a 64-bit
  /// integer; the message says which.
  [[nodiscard]] Result<std::int64_t> integer(std::size_t row, std::size_t column) const;

  /// Rows returned or changed, as the command tag says; 0 for statements that have no such count.
  [[nodiscard]] std::uint64_t affected() const noexcept;
  /// The command tag, e.g. "INSERT 0 1"; empty for an empty statement.
  [[nodiscard]] std::string_view tag() const noexcept;
  /// Bytes of all field values.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  struct Clear {
    void operator()(pg_result* result) const noexcept;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

}  // namespace plimsoll::pg
