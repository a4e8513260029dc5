#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/lease_claims/lease.hpp"
#include "lib/pg/connection.hpp"

namespace plimsoll::lease {

namespace asio = boost::asio;

/// The SQL that makes `schedules` and `fires` in a schema that exists; running it twice does
/// nothing. Errors: as quoted_identifier.
[[nodiscard]] Result<std::string> ddl(std::string_view schema);

/// Runs `ddl`. REQUIRES: the connection outlives the call.
[[nodiscard]] asio::awaitable<Result<void>> install(pg::Connection& connection, std::string schema);

/// Makes a schedule, unless the tenant has one under this number: a program that declares its
/// schedules at every start changes nothing by it, so that restarts neither fire nor postpone. A
/// retired one comes back under `spec`, its tokens go on growing. True when made or brought back.
///
/// REQUIRES: the connection outlives the call. Errors: kInvalidArgument (a limit of lease.hpp; the
/// zone), and the connection's.
[[nodiscard]] asio::awaitable<Result<bool>> add_schedule(pg::Connection& connection,
                                                         std::string schema, ScheduleSpec spec);

/// Ends a schedule: never due again, its holder's next write is refused. The row stays, because the
/// tokens of a schedule made anew must not start over.
///
/// REQUIRES: the connection outlives the call. Errors: kNotFound, kInvalidArgument, the
/// connection's.
[[nodiscard]] asio::awaitable<Result<void>> retire_schedule(pg::Connection& connection,
                                                            std::string schema, std::string tenant,
                                                            std::int64_t schedule);

}  // namespace plimsoll::lease
