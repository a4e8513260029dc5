#pragma once

#include <boost/asio/awaitable.hpp>

#include "lib/core/result.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/session.hpp"

namespace plimsoll::pg {

/// Looks the host up beside the loop, connects and logs in, within `config.connect_timeout`. The
/// connection is in nonblocking mode and its notices are dropped. Errors: as Connection::connect.
[[nodiscard]] asio::awaitable<Result<ConnectionPtr>> log_in(Config config);

}  // namespace plimsoll::pg
