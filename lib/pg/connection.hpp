#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/query.hpp"
#include "lib/pg/rows.hpp"

namespace plimsoll::pg {

namespace asio = boost::asio;

class Session;

/// Where and how to connect. `dsn` is anything that libpq accepts: a URI or key=value words. No
/// aggregate, for the reason told at Query.
struct Config {
  Config() = default;
  explicit Config(std::string where) noexcept : dsn(std::move(where)) {}

  std::string dsn;
  std::chrono::milliseconds connect_timeout{5000};  ///< Name look-up and log-in included.
  /// Client side, per call, waiting behind other calls included; the call is then cancelled.
  std::chrono::milliseconds statement_timeout{30000};
  std::string application_name{"plimsoll"};  ///< Unless the dsn gives one.
  /// Groups on their way to the server at once. What is beyond waits here, where a call that gives
  /// up costs the server nothing.
  std::size_t max_in_flight = 128;
  /// The server is behind a pooler that hands its connections on from transaction to transaction
  /// (PgBouncer's pool_mode = transaction). libpq cannot tell, so it must be said. What would break
  /// there is then refused with kInvalidArgument: a query with a name, a dsn with `options`.
  bool pooled = false;
};

/// One PostgreSQL connection on one executor, in libpq's pipeline mode.
///
/// Every call is one group: what stands between two Syncs, so one implicit transaction and one
/// round trip. Any number of coroutines may call at once; their groups travel together, are
/// executed and answered in the order of the calls, and an SQL error reaches only its own caller.
/// A transaction opened by BEGIN in one call spans the calls that follow, whoever makes them:
/// connections that do so are for one owner at a time (see Pool).
///
/// A call that runs out of time, or whose coroutine is cancelled, returns at once. A statement of
/// it that the server is already executing is cancelled there; its late answer is dropped; the
/// connection and the other callers go on. session.hpp tells how a cancel is kept from hitting a
/// neighbour.
///
/// After an error whose `poisons_connection()` holds, every further call fails with the same error.
/// COPY is not possible here: it poisons the connection with kProtocol. Notices and notifications
/// are dropped.
///
/// Thread safety: none; all calls on the connection's executor, by coroutines that run on it. Its
/// io_context may end with calls pending, but must outlive the connection. An idle connection does
/// not keep an io_context running.
/// Errors: kUnavailable, kTimeout, kCancelled, kProtocol; kRejected, kRefused, kConflict, kBusy
/// and others by SQLSTATE (sqlstate.hpp); kInvalidArgument for what cannot be sent: a NUL byte,
/// over 65,535 parameters, over 1 GiB in one message, a name that stands for another text.
class Connection {
 public:
  /// Connects on the executor of the awaiting coroutine. Host names are looked up in a thread
  /// beside, so nothing blocks the loop.
  ///
  /// Errors: kInvalidArgument (the dsn), kTimeout, kUnavailable (nobody there, unknown host,
  /// starting up), kRefused (password, pg_hba.conf), kNotFound (database), kBusy (too many
  /// clients). No message holds the password.
  [[nodiscard]] static asio::awaitable<Result<std::unique_ptr<Connection>>> connect(Config config);

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  /// Calls still pending get kUnavailable.
  ~Connection();

  /// Executes one statement; it is sent when the awaitable is awaited.
  [[nodiscard]] asio::awaitable<Result<Rows>> query(Query query, Timeout timeout = std::nullopt);
  [[nodiscard]] asio::awaitable<Result<Rows>> query(std::string sql, Params params = {},
                                                    Timeout timeout = std::nullopt);

  /// Executes all statements with one Sync: one round trip and, unless they say BEGIN or COMMIT
  /// themselves, one transaction: when one fails, all are undone. Answers are in the order of the
  /// queries and as many. The failed one carries its error, those behind it kCancelled; those
  /// before it keep their rows, which no longer hold. An error at the commit itself (a deferred
  /// constraint) is the last statement's.
  [[nodiscard]] asio::awaitable<std::vector<Result<Rows>>> pipeline(std::vector<Query> queries,
                                                                    Timeout timeout = std::nullopt);

  /// Executes several statements separated by semicolons, without parameters, in one transaction
  /// unless they say otherwise; for schemas and fixtures. Waits for calls before it and holds back
  /// those behind it.
  [[nodiscard]] asio::awaitable<Result<void>> script(std::string sql,
                                                     Timeout timeout = std::nullopt);

  /// Ends the connection. Calls still pending, and all later ones, get kUnavailable.
  void close();

  /// True until the connection is closed or poisoned. Does not ask the server.
  [[nodiscard]] bool is_open() const noexcept;
  /// True when nothing is waiting or in flight and no transaction is open.
  [[nodiscard]] bool is_idle() const noexcept;
  /// The server's process id, as pg_stat_activity shows it; behind a pooler a number of the
  /// pooler's, which names no process.
  [[nodiscard]] int backend_pid() const noexcept;
  /// E.g. 150020 for 15.20.
  [[nodiscard]] int server_version() const noexcept;
  [[nodiscard]] const Counters& counters() const noexcept;
  [[nodiscard]] asio::any_io_executor executor() const noexcept;

 private:
  explicit Connection(std::shared_ptr<Session> session) noexcept;

  std::shared_ptr<Session> session_;
};

}  // namespace plimsoll::pg
