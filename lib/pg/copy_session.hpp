#pragma once

#include <libpq-fe.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/core/result.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/copy_reader.hpp"
#include "lib/pg/copy_value.hpp"
#include "lib/pg/session.hpp"

namespace plimsoll::pg {

/// libpq and its socket while they COPY: the steps of copy.cpp. Lives as long as its Copier or as a
/// call or a clean-up that holds it.
///
/// The simple protocol is used: with the extended one, an error before the server has read the
/// first row leaves it with a Sync too many, whose answer would be taken for that of the next
/// statement.
///
/// Ending one in the middle. For COPY IN the client says CopyFail; the server undoes all. For COPY
/// OUT, and where the server does not listen since it waits for a lock, it is asked to cancel, by a
/// thread (canceller.hpp). What is on its way is read and dropped. The connection can be used again
/// when the server is ready and the cancel has been taken, so that it cannot hit what comes next;
/// if that does not happen within kPatience, the connection is lost.
class CopySession : public std::enable_shared_from_this<CopySession> {
 public:
  enum class Direction { kIn, kOut };

  /// Where a COPY stands.
  enum class Phase {
    kIdle,     ///< The server is ready.
    kAsking,   ///< The statement is on its way.
    kCopying,  ///< Rows are.
    kEnding,   ///< All rows were sent, or received; the server has the last word.
  };

  struct Shape {
    CopyFormat format;
    std::size_t columns;
  };

  static constexpr std::chrono::seconds kPatience{10};

  /// `connection` is logged in and in nonblocking mode.
  CopySession(asio::any_io_executor executor, ConnectionPtr connection, const Config& config);
  CopySession(const CopySession&) = delete;
  CopySession& operator=(const CopySession&) = delete;
  ~CopySession();

  /// Waits while an earlier COPY is being ended. Errors: kBusy when one is going on, kTimeout.
  [[nodiscard]] static asio::awaitable<Result<void>> enter(std::shared_ptr<CopySession> self,
                                                           std::chrono::milliseconds limit);
  void leave() noexcept { is_taken_ = false; }

  /// Sends the statement; the server then expects rows, or sends them.
  [[nodiscard]] static asio::awaitable<Result<Shape>> begin(std::shared_ptr<CopySession> self,
                                                            std::string sql, Direction direction);
  /// Sends bytes, and waits as long as the server does not take them. Returns early when the
  /// server has an answer.
  [[nodiscard]] static asio::awaitable<Result<void>> put(std::shared_ptr<CopySession> self,
                                                         std::string_view bytes);
  /// True when the server has said something before the end of the rows: an error.
  [[nodiscard]] bool has_answer() const noexcept { return has_answer_; }
  /// Receives until the reader is full, or has rows and nothing more has come. False: that was all.
  [[nodiscard]] static asio::awaitable<Result<bool>> fill(std::shared_ptr<CopySession> self,
                                                          CopyReader* reader);
  /// Ends the COPY in order; returns the server's count of rows.
  [[nodiscard]] static asio::awaitable<Result<std::uint64_t>> finish(
      std::shared_ptr<CopySession> self, Direction direction);

  /// Ends it in the middle, so that nothing of it is kept. Then the session is idle or lost.
  [[nodiscard]] static asio::awaitable<void> abort(std::shared_ptr<CopySession> self);
  /// The same, with nobody waiting.
  void abort_later();

  void shut_down(Error reason);

  [[nodiscard]] bool is_open() const noexcept { return connection_ != nullptr; }
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] const Error& reason() const noexcept { return reason_; }
  [[nodiscard]] const Config& config() const noexcept { return config_; }
  [[nodiscard]] int backend_pid() const noexcept { return backend_pid_; }

 private:
  struct Clear {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
  };
  using ResultPtr = std::unique_ptr<PGresult, Clear>;

  static asio::awaitable<Result<void>> readable(std::shared_ptr<CopySession> self);
  static asio::awaitable<Result<void>> flush(std::shared_ptr<CopySession> self);
  static asio::awaitable<Result<ResultPtr>> next_result(std::shared_ptr<CopySession> self);
  static asio::awaitable<Result<void>> drop_rows(std::shared_ptr<CopySession> self);
  static asio::awaitable<Result<void>> drain(std::shared_ptr<CopySession> self);
  static asio::awaitable<void> clean_up(std::shared_ptr<CopySession> self);
  static asio::awaitable<Result<void>> drain_after(std::shared_ptr<CopySession> self, int asked);

  [[nodiscard]] bool receive();
  void look_for_answer() noexcept;
  void lose(Error reason);
  [[nodiscard]] Error lost_on_reading();
  [[nodiscard]] Error lost_on_writing();

  asio::any_io_executor executor_;
  Config config_;
  ConnectionPtr connection_;
  int backend_pid_;
  asio::posix::stream_descriptor socket_;  ///< libpq's own; released, never closed.
  asio::steady_timer cleaned_;             ///< Cancelled when a clean-up ends.
  Error reason_{};                         ///< Why the connection is gone.
  Phase phase_ = Phase::kIdle;
  bool is_taken_ = false;
  bool is_cleaning_ = false;
  bool has_looked_ = false;
  bool has_answer_ = false;
};

}  // namespace plimsoll::pg
