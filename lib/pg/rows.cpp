#include "lib/pg/rows.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <charconv>

namespace plimsoll::pg {
namespace {

std::size_t count(int libpq_count) noexcept { return static_cast<std::size_t>(libpq_count); }

}  // namespace

void Rows::Clear::operator()(pg_result* result) const noexcept { PQclear(result); }

std::size_t Rows::size() const noexcept { return count(PQntuples(result_.get())); }

std::size_t Rows::columns() const noexcept { return count(PQnfields(result_.get())); }

std::string_view Rows::column_name(std::size_t column) const noexcept {
  if (column >= columns()) return {};
  return PQfname(result_.get(), static_cast<int>(column));
}

std::optional<std::string_view> Rows::value(std::size_t row, std::size_t column) const noexcept {
  if (row >= size() || column >= columns()) return std::nullopt;
  const auto r = static_cast<int>(row);
  const auto c = static_cast<int>(column);
  if (PQgetisnull(result_.get(), r, c) != 0) return std::nullopt;
  return std::string_view(PQgetvalue(result_.get(), r, c), count(PQgetlength(result_.get(), r, c)));
}

std::string_view Rows::text(std::size_t row, std::size_t column) const noexcept {
  return value(row, column).value_or(std::string_view{});
}

Result<std::int64_t> Rows::integer(std::size_t row, std::size_t column) const {
  if (row >= size() || column >= columns()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("row {}, column {} was asked for; there are {} rows of {} columns", row,
                            column, size(), columns()));
  }
  const auto found = value(row, column);
  if (!found) {
    return fail(Errc::kInvalidArgument,
                fmt::format("row {}, column {} is NULL, not a number", row, column_name(column)));
  }
  std::int64_t number = 0;
  const auto* end = found->data() + found->size();
  const auto [stop, error] = std::from_chars(found->data(), end, number);
  if (error != std::errc{} || stop != end) {
    return fail(Errc::kInvalidArgument,
                fmt::format("row {}, column {} has {} characters that are not a 64-bit integer",
                            row, column_name(column), found->size()));
  }
  return number;
}

std::uint64_t Rows::affected() const noexcept {
  // PQcmdTuples takes a pointer to non-const and changes nothing.
  const std::string_view text = result_ ? PQcmdTuples(result_.get()) : "";
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string_view Rows::tag() const noexcept { return result_ ? PQcmdStatus(result_.get()) : ""; }

std::uint64_t Rows::bytes() const noexcept {
  std::uint64_t total = 0;
  const int rows = PQntuples(result_.get());
  const int fields = PQnfields(result_.get());
  for (int row = 0; row < rows; ++row) {
    for (int field = 0; field < fields; ++field) {
      total += count(PQgetlength(result_.get(), row, field));
    }
  }
  return total;
}

}  // namespace plimsoll::pg
