#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/dsn.hpp"

namespace plimsoll::pg {

/// Gives every host name an address, since libpq's own look-up would block the loop. A name with
/// several addresses becomes several hosts, which libpq tries in turn; names that are not known are
/// left out.
///
/// Errors: kUnavailable when no host is left, with the last reason; kCancelled; kInternal.
[[nodiscard]] boost::asio::awaitable<Result<std::vector<Host>>> look_up(std::vector<Host> hosts);

}  // namespace plimsoll::pg
