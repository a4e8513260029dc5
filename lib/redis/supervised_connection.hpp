#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lib/redis/channel.hpp"
#include "lib/redis/connection.hpp"

namespace plimsoll::redis {

struct SupervisedConfig {
  Config connection;
  std::chrono::milliseconds first_pause{50};  ///< Between two attempts; see Backoff.
  std::chrono::milliseconds longest_pause{5000};
  std::optional<std::uint64_t> seed;  ///< Of the pauses' random part; from the system unless set.
};

class Supervisor;

/// A connection that is replaced when it breaks.
///
/// It is made when it is first needed. When it breaks, every call that was pending gets the error,
/// which says whether the server can have executed the command: nothing is ever sent a second time
/// here. Later calls wait for a new connection within their own time limit. Attempts are made only
/// while somebody waits, with growing pauses that also span a connection that broke again at once.
///
/// An attempt that fails for a reason that time does not mend (kRefused, kInvalidArgument,
/// kNotFound) ends all calls that wait for it; the next call makes a new one.
///
/// Thread safety: none; all calls on the executor. It may go while calls are awaited: they get
/// kUnavailable.
/// Errors: those of Connection::connect and Connection; kUnavailable when the time ran out without
/// a connection, with the last reason.
class SupervisedConnection final : public Channel {
 public:
  /// Connects to nothing yet. REQUIRES: 0 < first_pause <= longest_pause.
  SupervisedConnection(asio::any_io_executor executor, SupervisedConfig config);
  SupervisedConnection(const SupervisedConnection&) = delete;
  SupervisedConnection& operator=(const SupervisedConnection&) = delete;
  ~SupervisedConnection() override;

  [[nodiscard]] asio::awaitable<Result<Reply>> command(Command command,
                                                       Timeout timeout = std::nullopt) override;
  [[nodiscard]] asio::awaitable<std::vector<Result<Reply>>> pipeline(
      std::vector<Command> commands, Timeout timeout = std::nullopt) override;

  /// Ends the connection. Calls still pending, and all later ones, get kUnavailable.
  void close();

  [[nodiscard]] bool is_connected() const noexcept;
  /// Connections that were made so far.
  [[nodiscard]] std::uint64_t connections() const noexcept;
  /// The sum over all connections, those gone included.
  [[nodiscard]] Counters counters() const noexcept override;

 private:
  std::shared_ptr<Supervisor> supervisor_;
};

}  // namespace plimsoll::redis
