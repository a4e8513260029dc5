#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/core/result.hpp"
#include "lib/pg/copy_value.hpp"

namespace plimsoll::pg {

/// So many bytes make a chunk, which is handed to the socket.
inline constexpr std::size_t kCopyChunk = 64 * 1024;

/// Encodes rows for COPY ... FROM STDIN, field by field:
///
///     writer.row().int8(42).text("forty-two").null();
///
/// Each method names the type of the column, not of C++: the binary format has no conversions, and
/// the server refuses another width. (`text` also stands for varchar, json and the like.)
///
/// Cost: an append a field; no allocation once the buffer has its size.
/// Thread safety: none.
/// Errors: kInvalidArgument, kept until asked for: a row with too few or too many fields, a NUL
/// byte in text, a field over 1 GiB. The message says which row and column, counted from 1.
class CopyWriter {
 public:
  /// What the server said it expects.
  CopyWriter(CopyFormat format, std::size_t columns);

  /// Begins a row.
  CopyWriter& row();

  CopyWriter& null();
  CopyWriter& boolean(bool value);
  CopyWriter& int2(std::int16_t value);
  CopyWriter& int4(std::int32_t value);
  CopyWriter& int8(std::int64_t value);
  CopyWriter& float8(double value);
  CopyWriter& text(std::string_view value);
  CopyWriter& bytea(std::string_view bytes);
  CopyWriter& timestamptz(Timestamp value);
  CopyWriter& uuid(const Uuid& value);

  /// Rows that are encoded already: whole lines of text or CSV, or binary rows without header and
  /// trailer. The caller counts them.
  CopyWriter& encoded(std::string_view bytes, std::uint64_t rows);

  /// True when what is there makes a chunk, or an error makes more useless.
  [[nodiscard]] bool is_full() const noexcept { return buffer_.size() >= kCopyChunk || error_; }
  [[nodiscard]] CopyFormat format() const noexcept { return format_; }
  /// Rows begun so far.
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  /// The first error.
  [[nodiscard]] Result<void> check() const;

  /// For the Copier. `finish` ends the last row and the data.
  void finish();
  [[nodiscard]] std::string_view buffer() const noexcept { return buffer_; }
  void clear() noexcept { buffer_.clear(); }

 private:
  [[nodiscard]] bool begin_field();
  [[nodiscard]] bool is_binary() const noexcept { return format_ == CopyFormat::kBinary; }
  void end_row();
  void complain(std::string what);
  template <class Int>
  CopyWriter& integer(Int value);
  void append_field(std::string_view bytes);

  CopyFormat format_;
  std::size_t columns_;
  std::string buffer_;
  std::uint64_t rows_ = 0;
  std::size_t fields_ = 0;  ///< Of the present row.
  bool in_row_ = false;
  std::optional<Error> error_;
};

}  // namespace plimsoll::pg
