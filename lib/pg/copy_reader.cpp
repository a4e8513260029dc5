#include "lib/pg/copy_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <type_traits>
#include <utility>

#include "lib/pg/copy_text.hpp"
#include "lib/pg/copy_writer.hpp"

namespace plimsoll::pg {
namespace {

constexpr std::string_view kSignature{"PGCOPY\n\377\r\n\0", 11};
constexpr std::size_t kHeaderBytes = kSignature.size() + 8;  // Flags; length of the extension.

// REQUIRES: sizeof(Int) bytes there.
template <class Int>
Int big_endian(std::string_view bytes) noexcept {
  std::make_unsigned_t<Int> bits = 0;
  for (std::size_t i = 0; i < sizeof(Int); ++i) {
    bits = static_cast<decltype(bits)>(bits << 8 | static_cast<std::uint8_t>(bytes[i]));
  }
  return static_cast<Int>(bits);
}

tl::unexpected<Error> not_of_type(std::size_t row, std::size_t column, std::string_view value,
                                  std::string_view type) {
  return fail(Errc::kProtocol, fmt::format("row {}, column {} has {} bytes that are no {}", row,
                                           column, value.size(), type));
}

template <class Number>
bool parse_number(std::string_view text, Number& number) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::optional<std::string_view> CopyRows::value(std::size_t row,
                                                std::size_t column) const noexcept {
  if (row >= rows_ || column >= columns_) return std::nullopt;
  const Field& field = fields_[row * columns_ + column];
  if (field.size == kNull) return std::nullopt;
  return std::string_view(bytes_).substr(field.begin, field.size);
}

Result<std::string_view> CopyRows::present(std::size_t row, std::size_t column) const {
  if (row >= rows_ || column >= columns_) {
    return fail(Errc::kInvalidArgument,
                fmt::format("row {}, column {} was asked for; there are {} rows of {} columns", row,
                            column, rows_, columns_));
  }
  const auto found = value(row, column);
  if (!found)
    return fail(Errc::kInvalidArgument, fmt::format("row {}, column {} is NULL", row, column));
  return *found;
}

Result<bool> CopyRows::boolean(std::size_t row, std::size_t column) const {
  const auto bytes = present(row, column);
  if (!bytes) return fail(bytes.error());
  const char yes = is_binary() ? '\1' : 't';
  const char no = is_binary() ? '\0' : 'f';
  if (bytes->size() != 1 || (bytes->front() != yes && bytes->front() != no)) {
    return not_of_type(row, column, *bytes, "bool");
  }
  return bytes->front() == yes;
}

Result<std::int64_t> CopyRows::integer(std::size_t row, std::size_t column) const {
  const auto bytes = present(row, column);
  if (!bytes) return fail(bytes.error());
  std::int64_t number = 0;
  if (is_binary()) {
    if (bytes->size() == 2) return big_endian<std::int16_t>(*bytes);
    if (bytes->size() == 4) return big_endian<std::int32_t>(*bytes);
    if (bytes->size() == 8) return big_endian<std::int64_t>(*bytes);
  } else if (parse_number(*bytes, number)) {
    return number;
  }
  return not_of_type(row, column, *bytes, "integer");
}

Result<double> CopyRows::float8(std::size_t row, std::size_t column) const {
  const auto bytes = present(row, column);
  if (!bytes) return fail(bytes.error());
  double number = 0;
  if (is_binary()) {
    if (bytes->size() == 8) return std::bit_cast<double>(big_endian<std::int64_t>(*bytes));
  } else if (parse_number(*bytes, number)) {  // NaN and Infinity, too.
    return number;
  }
  return not_of_type(row, column, *bytes, "float8");
}

Result<std::string_view> CopyRows::text(std::size_t row, std::size_t column) const {
  return present(row, column);
}

Result<std::string> CopyRows::bytea(std::size_t row, std::size_t column) const {
  const auto bytes = present(row, column);
  if (!bytes) return fail(bytes.error());
  if (is_binary()) return std::string(*bytes);
  return bytes_of_hex(*bytes);
}

Result<Timestamp> CopyRows::timestamptz(std::size_t row, std::size_t column) const {
  const auto bytes = present(row, column);
  if (!bytes) return fail(bytes.error());
  if (!is_binary()) return timestamp_of_text(*bytes);
  if (bytes->size() != 8) return not_of_type(row, column, *bytes, "timestamptz");
  return Timestamp{big_endian<std::int64_t>(*bytes)};
}

Result<Uuid> CopyRows::uuid(std::size_t row, std::size_t column) const {
  const auto bytes = present(row, column);
  if (!bytes) return fail(bytes.error());
  if (!is_binary()) return uuid_of_text(*bytes);
  Uuid uuid{};
  if (bytes->size() != uuid.size()) return not_of_type(row, column, *bytes, "uuid");
  std::ranges::transform(*bytes, uuid.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  return uuid;
}

tl::unexpected<Error> CopyReader::odd(std::string what) const {
  return fail(Errc::kProtocol, fmt::format("row {} of the COPY: {}", total_ + 1, what));
}

Result<void> CopyReader::feed(std::string_view bytes) {
  rows_.bytes_ += bytes;
  return rows_.is_binary() ? parse_binary() : parse_text();
}

void CopyReader::end_row(std::size_t behind) {
  parsed_ = behind;
  ++rows_.rows_;
  ++total_;
}

// False while it is not all there, or not one; then nothing was parsed.
bool CopyReader::parse_header() {
  const std::string_view bytes = rows_.bytes_;
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kSignature)) return false;
  const auto extension = big_endian<std::uint32_t>(bytes.substr(kHeaderBytes - 4));
  if (bytes.size() - kHeaderBytes < extension) return false;
  parsed_ = kHeaderBytes + extension;
  has_header_ = true;
  return true;
}

Result<void> CopyReader::parse_binary() {
  if (!has_header_ && !parse_header()) {
    const std::string_view bytes = rows_.bytes_;
    const auto known = std::min(bytes.size(), kSignature.size());
    if (bytes.substr(0, known) == kSignature.substr(0, known)) return {};
    return odd("the data does not begin with the signature of the binary format");
  }
  while (true) {
    const std::string_view rest = std::string_view(rows_.bytes_).substr(parsed_);
    if (has_trailer_ && !rest.empty()) return odd("there is data behind the end of the data");
    if (rest.size() < 2) return {};
    const auto count = big_endian<std::int16_t>(rest);
    if (count == -1) {
      has_trailer_ = true;
      parsed_ += 2;
      continue;
    }
    if (count < 0 || static_cast<std::size_t>(count) != rows_.columns_) {
      return odd(fmt::format("it has {} fields; the COPY has {} columns", count, rows_.columns_));
    }
    const std::size_t before = rows_.fields_.size();
    std::size_t at = 2;
    for (std::size_t column = 0; column < rows_.columns_; ++column) {
      const bool has_size = rest.size() - at >= 4;
      const auto size = has_size ? big_endian<std::int32_t>(rest.substr(at)) : 0;
      if (has_size && size < -1) return odd(fmt::format("a field of {} bytes", size));
      const auto bytes = static_cast<std::size_t>(std::max(size, 0));
      if (!has_size || rest.size() - at - 4 < bytes) {
        rows_.fields_.resize(before);  // The rest of the row is still to come.
        return {};
      }
      at += 4;
      rows_.fields_.push_back({parsed_ + at, size < 0 ? CopyRows::kNull : bytes});
      at += bytes;
    }
    end_row(parsed_ + at);
  }
}

Result<void> CopyReader::parse_text() {
  while (true) {
    const auto end = rows_.bytes_.find('\n', std::max(parsed_, scanned_));
    if (end == std::string::npos) {
      scanned_ = rows_.bytes_.size();
      return {};
    }
    if (auto parsed = parse_line(parsed_, end); !parsed) return parsed;
    end_row(end + 1);
  }
}

Result<void> CopyReader::parse_line(std::size_t begin, std::size_t end) {
  char* const bytes = rows_.bytes_.data();
  std::size_t fields = 0;
  // An empty line is one empty field, or a row of a table without columns.
  for (std::size_t at = begin; rows_.columns_ > 0 || begin != end;) {
    const auto tab = std::string_view(bytes + at, end - at).find('\t');
    const std::size_t size = tab == std::string_view::npos ? end - at : tab;
    if (++fields > rows_.columns_) break;
    const bool is_null = std::string_view(bytes + at, size) == "\\N";
    rows_.fields_.push_back({at, is_null ? CopyRows::kNull : unescape(bytes + at, size)});
    if (tab == std::string_view::npos) break;
    at += size + 1;
  }
  if (fields == rows_.columns_) return {};
  return odd(fmt::format("it has {} fields{}; the COPY has {} columns", fields,
                         fields > rows_.columns_ ? " or more" : "", rows_.columns_));
}

Result<void> CopyReader::finish() const {
  if (parsed_ != rows_.bytes_.size() || (rows_.is_binary() && !has_trailer_)) {
    return odd("the data ends in the middle of it, or without its end mark");
  }
  return {};
}

void CopyReader::clear() {
  rows_.bytes_.erase(0, parsed_);
  scanned_ = std::max(scanned_, parsed_) - parsed_;
  parsed_ = 0;
  rows_.fields_.clear();
  rows_.rows_ = 0;
}

bool CopyReader::is_full() const noexcept { return parsed_ >= kCopyChunk; }

}  // namespace plimsoll::pg
