#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/redis/channel.hpp"
#include "lib/redis/command.hpp"
#include "lib/redis/reply.hpp"

namespace plimsoll::redis {

class Session;

/// Where and how to connect. `url` is as RedisUrl tells (lib/core/redis_url.hpp). No aggregate, for
/// the reason told at Command.
struct Config {
  Config() = default;
  explicit Config(std::string where) noexcept : url(std::move(where)) {}

  std::string url;
  std::chrono::milliseconds connect_timeout{5000};  ///< Name look-up and log-in included.
  /// Client side, per call, waiting behind other calls included.
  std::chrono::milliseconds call_timeout{30000};
  /// A connection that owes an answer and says nothing for so long is lost: its peer is gone
  /// without a word. Longer than any command may take. 0: it is waited for without end.
  std::chrono::milliseconds max_silence{60000};
  std::string client_name{"plimsoll"};  ///< As CLIENT LIST shows it; empty: none is set.
  /// Commands on their way to the server at once. What is beyond waits here, where a call that
  /// gives up costs the server nothing.
  std::size_t max_in_flight = 1024;
  /// What one reply may take here. A larger one ends the connection, since nothing behind it can be
  /// read without it.
  std::size_t max_reply_bytes = 512UL << 20;
};

/// One connection to a Redis on one executor.
///
/// Any number of coroutines may call at once: what they ask in one turn of the loop goes out in one
/// write, and is executed and answered in the order of the calls. An error answer reaches only its
/// own caller.
///
/// A call that runs out of time, or whose coroutine is cancelled, returns at once; its late answer
/// is dropped, and the connection and the other callers go on. Redis cannot be told to stop, so the
/// command may still be done, and what it holds up waits on: for commands that block (BLPOP, WAIT)
/// or take long use a connection of their own. So for what changes the connection itself (SELECT,
/// WATCH, a MULTI that stays open). Commands that are not answered exactly once are refused (see
/// `check`).
///
/// After an error whose `poisons_connection()` holds, every further call fails with the same error.
/// A call that it ended says in its message whether the server can have heard of it.
///
/// Thread safety: none; all calls on the connection's executor, by coroutines that run on it. Its
/// io_context may end with calls pending, but must outlive the connection. An idle connection does
/// not keep an io_context running.
/// Errors: kUnavailable, kTimeout, kCancelled, kProtocol; kInvalidArgument for what must not be
/// sent (an argument over 512 MiB); by the server's answer those of reply_error.hpp.
class Connection final : public Channel {
 public:
  /// Connects on the executor of the awaiting coroutine and logs in, in one round trip. Host names
  /// are looked up in a thread beside, so nothing blocks the loop.
  ///
  /// Errors: kInvalidArgument (the url or the name), kTimeout, kUnavailable (nobody there, unknown
  /// host), kRefused (password), kNotFound (database number), kBusy (too many clients), kProtocol
  /// (no Redis). No message holds the password.
  [[nodiscard]] static asio::awaitable<Result<std::unique_ptr<Connection>>> connect(Config config);

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  /// Calls still pending get kUnavailable.
  ~Connection() override;

  [[nodiscard]] asio::awaitable<Result<Reply>> command(Command command,
                                                       Timeout timeout = std::nullopt) override;
  [[nodiscard]] asio::awaitable<std::vector<Result<Reply>>> pipeline(
      std::vector<Command> commands, Timeout timeout = std::nullopt) override;

  /// Ends the connection. Calls still pending, and all later ones, get kUnavailable.
  void close();

  /// True until the connection is closed or poisoned. Does not look at the socket.
  [[nodiscard]] bool is_open() const noexcept;
  /// The same after a look at the socket of a connection that was idle for a second or more: one
  /// that the server has closed meanwhile is found out before anything is sent.
  [[nodiscard]] bool probe();
  /// True when nothing is waiting or in flight.
  [[nodiscard]] bool is_idle() const noexcept;
  [[nodiscard]] Counters counters() const noexcept override;
  [[nodiscard]] asio::any_io_executor executor() const noexcept;

 private:
  explicit Connection(std::shared_ptr<Session> session) noexcept;

  std::shared_ptr<Session> session_;
};

}  // namespace plimsoll::redis
