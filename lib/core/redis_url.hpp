#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/core/result.hpp"

namespace plimsoll {

/// Where a Redis is, and as whom and with which database to work there.
///
///   redis://[user]:password@host:port/db       host may be [::1]; port 6379 and db 0 unless given
///   unix://[user]:password@/path/to.sock?db=N  also ?user= and ?password=, as for redis://
///
/// Every part may be percent-encoded, and `@ : / ? #` in a user or a password must be.
struct RedisUrl {
  std::string host;           ///< Empty for a Unix socket.
  std::uint16_t port = 6379;  ///< Without meaning for a Unix socket.
  std::string socket;         ///< The path of a Unix socket; empty for TCP.
  std::string user;           ///< Empty: Redis' default user.
  std::string password;       ///< Empty: none is sent.
  int database = 0;

  /// `source` is what the text is called in messages. Errors: kInvalidArgument, which says what is
  /// wrong and quotes nothing of the text that could belong to a password.
  [[nodiscard]] static Result<RedisUrl> parse(std::string_view text, std::string_view source);

  /// The same as text, password included.
  [[nodiscard]] std::string text() const;
  /// For people: without the password.
  [[nodiscard]] std::string display() const;
  /// Replaces the password wherever a message quotes it.
  [[nodiscard]] std::string scrub(std::string message) const;

  friend bool operator==(const RedisUrl&, const RedisUrl&) = default;
};

/// Whether a text is meant for `RedisUrl::parse`.
[[nodiscard]] bool is_redis_url(std::string_view text) noexcept;

}  // namespace plimsoll
