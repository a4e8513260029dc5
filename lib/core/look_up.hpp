#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll {

/// Every address of a host name, in the order in which the system would try them. A thread beside
/// the loop asks: getaddrinfo blocks, and Asio's own resolver cannot be left before it has
/// finished.
///
/// Cost: a thread. Errors: kUnavailable, with the reason; kCancelled; kInternal.
[[nodiscard]] boost::asio::awaitable<Result<std::vector<std::string>>> look_up(std::string name);

}  // namespace plimsoll
