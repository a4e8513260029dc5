#include "lib/pg/identifier.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "lib/pg/query_check.hpp"

namespace plimsoll::pg {

Result<std::string> quoted_identifier(std::string_view name) {
  if (name.empty()) return fail(Errc::kInvalidArgument, "an SQL identifier is empty");
  if (name.find('\0') != std::string_view::npos) {
    return fail(Errc::kInvalidArgument, "an SQL identifier has a NUL byte");
  }
  if (name.size() > kMaxNameBytes) {
    return fail(Errc::kInvalidArgument,
                fmt::format("an SQL identifier has {} bytes; PostgreSQL tells names apart by {}",
                            name.size(), kMaxNameBytes));
  }
  std::string text{'"'};
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  text += '"';
  return text;
}

std::string statement_name(std::string_view operation, std::string_view sql) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char c : sql) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{}_{:016x}", operation, hash);
}

}  // namespace plimsoll::pg
