#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "lib/core/result.hpp"
#include "lib/pg/connection.hpp"

namespace plimsoll::rls {

namespace asio = boost::asio;

/// One connection of a queue and the jobs on it.
struct Link {
  std::unique_ptr<pg::Connection> connection;
  std::string role;  ///< Who logged in.
  std::size_t in_flight = 0;
};
using LinkPtr = std::shared_ptr<Link>;

/// Connects and asks the `probe` of statements.hpp.
///
/// Errors: kRefused for a role that row-level security does not bind, and, where the server is not
/// behind a pooler, for a connection that starts with an identity; Connection's.
[[nodiscard]] asio::awaitable<Result<LinkPtr>> connect_link(pg::Config config, std::string probe);

}  // namespace plimsoll::rls
