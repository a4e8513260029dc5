#include "lib/pg/query_check.hpp"

#include <fmt/format.h>

#include <string_view>

namespace plimsoll::pg {
namespace {

// Message type, length, names, counts and format codes: a generous bound on what frames the text.
constexpr std::size_t kFraming = 64;
constexpr std::size_t kFramingPerParameter = 8;

bool is_sendable(std::string_view text, std::size_t max_message) noexcept {
  return text.size() + kFraming <= max_message && text.find('\0') == std::string_view::npos;
}

tl::unexpected<Error> refuse(std::string_view what, std::string_view text,
                             std::size_t max_message) {
  if (text.size() + kFraming > max_message) {
    return fail(Errc::kInvalidArgument, fmt::format("{} has {} bytes; one message holds at most {}",
                                                    what, text.size(), max_message - kFraming));
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("{} has a NUL byte at position {} of {}, which PostgreSQL's text types "
                          "cannot hold; send it as bytea in hex",
                          what, text.find('\0'), text.size()));
}

}  // namespace

std::uint64_t parameter_bytes(const Query& query) noexcept {
  std::uint64_t bytes = 0;
  for (const auto& value : query.params) bytes += value ? value->size() : 0;
  return bytes;
}

Result<void> check(const Query& query, std::size_t max_message) {
  if (!is_sendable(query.sql, max_message)) return refuse("the statement", query.sql, max_message);
  if (query.name.size() > kMaxNameBytes || query.name.find('\0') != std::string::npos) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the statement's name has {} bytes or a NUL among them; the server "
                            "tells names apart by {} bytes",
                            query.name.size(), kMaxNameBytes));
  }
  if (query.params.size() > kMaxParams) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the statement has {} parameters; at most {} are possible, pass an "
                            "array instead",
                            query.params.size(), kMaxParams));
  }
  std::size_t total = kFraming + query.name.size();
  for (std::size_t i = 0; i < query.params.size(); ++i) {
    if (!query.params[i]) continue;
    const auto& value = *query.params[i];
    if (!is_sendable(value, max_message)) {
      return refuse(fmt::format("parameter ${}", i + 1), value, max_message);
    }
    total += value.size() + kFramingPerParameter;
  }
  if (total > max_message) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the parameters have {} bytes together; one message holds at most {}",
                            parameter_bytes(query), max_message));
  }
  return {};
}

Result<void> check_script(const std::string& sql, std::size_t max_message) {
  if (!is_sendable(sql, max_message)) return refuse("the script", sql, max_message);
  return {};
}

}  // namespace plimsoll::pg
