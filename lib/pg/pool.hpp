#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "lib/pg/connection.hpp"

namespace plimsoll::pg {

struct PoolConfig {
  Config connection;
  std::size_t size = 8;            ///< Connections at most; made when first needed.
  std::size_t max_waiters = 1024;  ///< Beyond it `acquire` fails with kBusy at once.
};

class PoolState;

/// A connection on loan; goes back to its pool when destroyed. One whose connection is broken, has
/// calls in flight or a transaction open is not reused: the pool makes a new one in its place.
///
/// May outlive the pool; its connection is then closed with it.
class PooledConnection {
 public:
  /// Holds nothing; only to be assigned to.
  PooledConnection() noexcept = default;
  PooledConnection(PooledConnection&& other) noexcept;
  PooledConnection& operator=(PooledConnection&& other) noexcept;
  ~PooledConnection();

  [[nodiscard]] explicit operator bool() const noexcept { return connection_ != nullptr; }
  [[nodiscard]] Connection* operator->() const noexcept { return connection_.get(); }
  [[nodiscard]] Connection& operator*() const noexcept { return *connection_; }

 private:
  friend class PoolState;
  PooledConnection(std::shared_ptr<PoolState> pool,
                   std::unique_ptr<Connection> connection) noexcept;
  void give_back() noexcept;

  std::shared_ptr<PoolState> pool_;
  std::unique_ptr<Connection> connection_;
};

/// At most K connections for any number of callers, served in the order in which they came.
///
/// Thread safety: none; all calls, and the end of every loan, on the pool's executor.
class Pool {
 public:
  /// Connects to nothing yet. REQUIRES: config.size > 0.
  Pool(asio::any_io_executor executor, PoolConfig config);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  /// Waiters get kUnavailable; loans stay valid.
  ~Pool();

  /// Waits at most `timeout` for a connection, the making of a new one included.
  ///
  /// Errors: kBusy (too many waiters), kTimeout (all stayed on loan), kCancelled (the coroutine
  /// was), kUnavailable (the pool closed), and those of Connection::connect.
  [[nodiscard]] asio::awaitable<Result<PooledConnection>> acquire(
      std::chrono::milliseconds timeout = std::chrono::seconds(5));

  /// Closes what is idle and fails the waiters; loans are closed when they come back.
  void close();

  [[nodiscard]] std::size_t size() const noexcept;  ///< Connections that exist or are being made.
  [[nodiscard]] std::size_t idle() const noexcept;  ///< Connections that nobody uses.
  [[nodiscard]] std::size_t waiters() const noexcept;  ///< Callers in the queue.
  /// The sum over all connections, those closed since included; what is on loan counts as of now.
  [[nodiscard]] Counters counters() const noexcept;

 private:
  std::shared_ptr<PoolState> state_;
};

}  // namespace plimsoll::pg
