#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::pg {

/// One place where the server may be.
struct Host {
  std::string host;     ///< As given: a name, an address, a directory of a socket, or empty.
  std::string address;  ///< `hostaddr`: as given or looked up; empty for sockets.
  std::string port;     ///< As given; empty for the default.

  /// True when libpq would look the name up itself and block.
  [[nodiscard]] bool needs_lookup() const;
};

/// What libpq will be told beside the dsn.
struct Dsn {
  std::vector<Host> hosts;  ///< At least one.

  /// For people: hosts and ports, no user and no password.
  [[nodiscard]] std::string display() const;
};

/// Takes the hosts out of what libpq accepts, its environment variables included.
/// Errors: kInvalidArgument. The message quotes nothing of the dsn, which may hold a password.
[[nodiscard]] Result<Dsn> parse_dsn(const std::string& dsn);

/// The parts between commas, empty ones too. An empty text has one empty part.
[[nodiscard]] std::vector<std::string> split_list(std::string_view list);

/// Replaces what stands in double quotes by "...".
[[nodiscard]] std::string hide_quoted(std::string_view text);

}  // namespace plimsoll::pg
