#include "lib/pg/copy_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "lib/pg/copy_text.hpp"
#include "lib/pg/query_check.hpp"

namespace plimsoll::pg {
namespace {

// The signature, no flags, no extension.
constexpr std::string_view kHeader{"PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19};

template <class Int>
void append_big_endian(std::string& out, Int value) {
  auto bits = static_cast<std::make_unsigned_t<Int>>(value);
  std::array<char, sizeof(Int)> bytes{};
  for (std::size_t i = sizeof(Int); i > 0; --i) {
    bytes[i - 1] = static_cast<char>(bits & 0xff);
    if constexpr (sizeof(Int) > 1) bits = static_cast<decltype(bits)>(bits >> 8);
  }
  out.append(bytes.data(), bytes.size());
}

void append_float(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "Infinity" : "-Infinity";
  } else {
    std::array<char, 32> text{};  // The shortest form that reads back as the same has 24 at most.
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    out.append(text.data(), end);
  }
}

}  // namespace

CopyWriter::CopyWriter(CopyFormat format, std::size_t columns)
    : format_(format), columns_(columns) {
  buffer_.reserve(kCopyChunk + kCopyChunk / 4);
  if (is_binary()) buffer_ += kHeader;
}

void CopyWriter::complain(std::string what) {
  if (!error_) error_ = Error{Errc::kInvalidArgument, std::move(what), {}};
}

Result<void> CopyWriter::check() const {
  if (error_) return fail(*error_);
  return {};
}

void CopyWriter::end_row() {
  if (!in_row_) return;
  if (fields_ != columns_) {
    complain(
        fmt::format("row {} has {} fields; the COPY has {} columns", rows_, fields_, columns_));
  }
  if (!is_binary()) buffer_ += '\n';
  in_row_ = false;
}

CopyWriter& CopyWriter::row() {
  end_row();
  in_row_ = true;
  fields_ = 0;
  ++rows_;
  if (is_binary()) append_big_endian(buffer_, static_cast<std::int16_t>(columns_));
  return *this;
}

bool CopyWriter::begin_field() {
  if (error_) return false;
  if (!in_row_ || fields_ == columns_) {
    complain(in_row_
                 ? fmt::format("row {} has more fields than the COPY's {} columns", rows_, columns_)
                 : std::string("a field stands before the first row; begin with row()"));
    return false;
  }
  if (!is_binary() && fields_ > 0) buffer_ += '\t';
  ++fields_;
  return true;
}

void CopyWriter::append_field(std::string_view bytes) {
  append_big_endian(buffer_, static_cast<std::int32_t>(bytes.size()));
  buffer_ += bytes;
}

CopyWriter& CopyWriter::null() {
  if (!begin_field()) return *this;
  if (is_binary()) {
    append_big_endian(buffer_, std::int32_t{-1});
  } else {
    buffer_ += "\\N";
  }
  return *this;
}

CopyWriter& CopyWriter::boolean(bool value) {
  if (!begin_field()) return *this;
  if (is_binary()) {
    append_big_endian(buffer_, std::int32_t{1});
    buffer_ += value ? '\1' : '\0';
  } else {
    buffer_ += value ? 't' : 'f';
  }
  return *this;
}

template <class Int>
CopyWriter& CopyWriter::integer(Int value) {
  if (!begin_field()) return *this;
  if (is_binary()) {
    append_big_endian(buffer_, static_cast<std::int32_t>(sizeof(Int)));
    append_big_endian(buffer_, value);
  } else {
    std::array<char, 24> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    buffer_.append(text.data(), end);
  }
  return *this;
}

CopyWriter& CopyWriter::int2(std::int16_t value) { return integer(value); }
CopyWriter& CopyWriter::int4(std::int32_t value) { return integer(value); }
CopyWriter& CopyWriter::int8(std::int64_t value) { return integer(value); }

CopyWriter& CopyWriter::float8(double value) {
  if (is_binary()) return integer(std::bit_cast<std::int64_t>(value));
  if (begin_field()) append_float(buffer_, value);
  return *this;
}

CopyWriter& CopyWriter::text(std::string_view value) {
  if (!begin_field()) return *this;
  const auto nul = value.find('\0');
  if (nul != std::string_view::npos) {
    complain(
        fmt::format("row {}, column {}: the text has a NUL byte at position {} of {}, which "
                    "PostgreSQL's text types cannot hold",
                    rows_, fields_, nul, value.size()));
  } else if (value.size() > kMaxMessageBytes) {
    complain(fmt::format("row {}, column {}: the text has {} bytes; a field has at most {}", rows_,
                         fields_, value.size(), kMaxMessageBytes));
  } else if (is_binary()) {
    append_field(value);
  } else {
    append_escaped(buffer_, value);
  }
  return *this;
}

CopyWriter& CopyWriter::bytea(std::string_view bytes) {
  if (!begin_field()) return *this;
  if (bytes.size() > kMaxMessageBytes) {
    complain(fmt::format("row {}, column {}: the bytea has {} bytes; a field has at most {}", rows_,
                         fields_, bytes.size(), kMaxMessageBytes));
  } else if (is_binary()) {
    append_field(bytes);
  } else {
    buffer_ += '\\';  // COPY's own escape of the one that begins the hex form.
    append_hex(buffer_, bytes);
  }
  return *this;
}

CopyWriter& CopyWriter::timestamptz(Timestamp value) {
  if (is_binary()) return integer(value.since_2000);
  if (begin_field()) append_timestamp(buffer_, value);
  return *this;
}

CopyWriter& CopyWriter::uuid(const Uuid& value) {
  if (!begin_field()) return *this;
  if (is_binary()) {
    append_big_endian(buffer_, static_cast<std::int32_t>(value.size()));
    for (const auto byte : value) buffer_ += static_cast<char>(byte);
  } else {
    append_uuid(buffer_, value);
  }
  return *this;
}

CopyWriter& CopyWriter::encoded(std::string_view bytes, std::uint64_t rows) {
  end_row();
  buffer_ += bytes;
  rows_ += rows;
  return *this;
}

void CopyWriter::finish() {
  end_row();
  if (is_binary()) append_big_endian(buffer_, std::int16_t{-1});
}

}  // namespace plimsoll::pg
