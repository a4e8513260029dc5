#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::pg {

namespace asio = boost::asio;

/// Where and how to connect. `dsn` is anything that libpq accepts: a URI or key=value words.
struct Config {
  std::string dsn;
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds statement_timeout{30000};  ///< Client side, per call; the call is then cancelled.
  std::string application_name{"plimsoll"};
};

/// Text-format parameters; nullopt is NULL.
using Params = std::vector<std::optional<std::string>>;

/// One statement. With a name it is prepared on the connection at first use and only bound afterwards; without, it is
/// parsed each time (what a transaction pooler needs).
struct Query {
  std::string sql;
  Params params;
  std::string name;
};

/// Rows of one statement. Values are views into this object.
class Rows;

/// What the connection did since it was opened. Work counters: they do not depend on the machine's mood.
struct Counters {
  std::uint64_t statements = 0;   ///< Statements executed, BEGIN and COMMIT included, Parse of a prepared one apart.
  std::uint64_t prepares = 0;     ///< Parse messages for named statements.
  std::uint64_t round_trips = 0;  ///< Times that something was sent and then waited for.
  std::uint64_t commits = 0;      ///< Transactions that the server acknowledged, explicit or implicit, that could write.
  std::uint64_t rows = 0;
  std::uint64_t bytes_sent = 0;      ///< Statement text and parameter values, not protocol framing.
  std::uint64_t bytes_received = 0;  ///< Field values, not protocol framing.
};

/// One PostgreSQL connection on one executor. See connection.cpp for why flushing waits for both directions.
///
/// Calls are queued in order: each is `awaitable<Result<...>>`, never throws for I/O, and an SQL error reaches only its
/// own caller. After an error whose `poisons_connection()` holds every further call fails with the same error.
///
/// Thread safety: none; all calls on the connection's executor. Errors: kUnavailable, kTimeout, kCancelled, kRejected,
/// kConflict (serialization, deadlock, unique violation; see Error::sqlstate), kProtocol, kInvalidArgument (NUL byte).
class Connection;

}  // namespace plimsoll::pg
