#include "lib/pg/copy_value.hpp"

#include <fmt/format.h>

#include "lib/pg/identifier.hpp"

namespace plimsoll::pg {
namespace {

using std::chrono::microseconds;
using SystemTime = std::chrono::sys_time<microseconds>;

constexpr microseconds kFrom1970To2000 = std::chrono::seconds(946'684'800);

std::string_view name(CopyFormat format) noexcept {
  return format == CopyFormat::kBinary ? "binary" : "text";
}

}  // namespace

Timestamp Timestamp::of(SystemTime time) noexcept {
  if (time == SystemTime::max()) return infinity();
  if (time < SystemTime::min() + kFrom1970To2000) return minus_infinity();
  return {(time.time_since_epoch() - kFrom1970To2000).count()};
}

SystemTime Timestamp::on_system_clock() const noexcept {
  if (*this == minus_infinity()) return SystemTime::min();
  if (microseconds(since_2000) > microseconds::max() - kFrom1970To2000) return SystemTime::max();
  return SystemTime(microseconds(since_2000) + kFrom1970To2000);
}

Result<std::string> copy_in_sql(std::string_view table, const std::vector<std::string>& columns,
                                CopyFormat format) {
  const auto point = table.find('.');
  std::string sql = "COPY ";
  if (point != std::string_view::npos) {
    const auto schema = quoted_identifier(table.substr(0, point));
    if (!schema) return fail(schema.error());
    sql += *schema + ".";
  }
  const auto target =
      quoted_identifier(point == std::string_view::npos ? table : table.substr(point + 1));
  if (!target) return fail(target.error());
  sql += *target;
  for (const auto& column : columns) {
    const auto part = quoted_identifier(column);
    if (!part) return fail(part.error());
    sql += (&column == &columns.front() ? " (" : ", ") + *part;
  }
  if (!columns.empty()) sql += ")";
  return sql + fmt::format(" FROM STDIN (FORMAT {})", name(format));
}

std::string copy_out_sql(std::string_view query, CopyFormat format) {
  return fmt::format("COPY ({}) TO STDOUT (FORMAT {})", query, name(format));
}

}  // namespace plimsoll::pg
