#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/dsn.hpp"

namespace plimsoll::pg {

/// Gives every host name an address, in a thread beside the loop: libpq would block it, and Asio's
/// own resolver cannot be left before it has finished. A name with several addresses becomes
/// several hosts, which libpq tries in turn; names that are not known are left out.
///
/// Errors: kUnavailable when no host is left, with the last reason; kCancelled; kInternal.
[[nodiscard]] boost::asio::awaitable<Result<std::vector<Host>>> look_up(std::vector<Host> hosts);

}  // namespace plimsoll::pg
