#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/copy_value.hpp"

namespace plimsoll::pg {

/// Some rows of COPY ... TO STDOUT, as a sink gets them. Views point into this object.
///
/// Each typed accessor reads one of the types that CopyWriter writes. Errors: kInvalidArgument (no
/// such row or column, NULL), kProtocol (a value that is not of this type).
/// Thread safety: const calls from any thread.
class CopyRows {
 public:
  CopyRows(CopyFormat format, std::size_t columns) noexcept : format_(format), columns_(columns) {}

  [[nodiscard]] std::size_t size() const noexcept { return rows_; }
  [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }

  /// The field as the format has it, text without its escapes; nullopt for NULL and where there is
  /// none.
  [[nodiscard]] std::optional<std::string_view> value(std::size_t row,
                                                      std::size_t column) const noexcept;
  [[nodiscard]] Result<bool> boolean(std::size_t row, std::size_t column) const;
  /// int2, int4 or int8.
  [[nodiscard]] Result<std::int64_t> integer(std::size_t row, std::size_t column) const;
  [[nodiscard]] Result<double> float8(std::size_t row, std::size_t column) const;
  [[nodiscard]] Result<std::string_view> text(std::size_t row, std::size_t column) const;
  [[nodiscard]] Result<std::string> bytea(std::size_t row, std::size_t column) const;
  [[nodiscard]] Result<Timestamp> timestamptz(std::size_t row, std::size_t column) const;
  [[nodiscard]] Result<Uuid> uuid(std::size_t row, std::size_t column) const;

 private:
  friend class CopyReader;

  struct Field {
    std::size_t begin;
    std::size_t size;  ///< kNull for NULL.
  };
  static constexpr std::size_t kNull = static_cast<std::size_t>(-1);

  [[nodiscard]] Result<std::string_view> present(std::size_t row, std::size_t column) const;
  [[nodiscard]] bool is_binary() const noexcept { return format_ == CopyFormat::kBinary; }

  CopyFormat format_;
  std::size_t columns_;
  std::size_t rows_ = 0;
  std::string bytes_;
  std::vector<Field> fields_;  ///< Of row 0, row 1, ...
};

/// Decodes the stream of COPY ... TO STDOUT, in pieces of any size.
///
/// Memory: what was fed since `clear`, at most one row more. Cost: one copy of the bytes.
/// Thread safety: none.
class CopyReader {
 public:
  CopyReader(CopyFormat format, std::size_t columns) noexcept : rows_(format, columns) {}

  /// Errors: kProtocol, with the number of the row.
  [[nodiscard]] Result<void> feed(std::string_view bytes);
  /// After the last piece. Errors: kProtocol when it ends in the middle.
  [[nodiscard]] Result<void> finish() const;

  /// What is complete and was not cleared yet.
  [[nodiscard]] const CopyRows& rows() const noexcept { return rows_; }
  void clear();
  [[nodiscard]] bool is_full() const noexcept;
  /// Rows since the beginning.
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

 private:
  [[nodiscard]] Result<void> parse_binary();
  [[nodiscard]] Result<void> parse_text();
  [[nodiscard]] Result<void> parse_line(std::size_t begin, std::size_t end);
  [[nodiscard]] bool parse_header();
  void end_row(std::size_t behind);
  [[nodiscard]] tl::unexpected<Error> odd(std::string what) const;

  CopyRows rows_;
  std::size_t parsed_ = 0;   ///< Bytes that make whole rows.
  std::size_t scanned_ = 0;  ///< Text: no line ends before this.
  std::uint64_t total_ = 0;
  bool has_header_ = false;
  bool has_trailer_ = false;
};

}  // namespace plimsoll::pg
