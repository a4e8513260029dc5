#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/core/session_registry.hpp"
#include "lib/redis/call_queue.hpp"
#include "lib/redis/connection.hpp"
#include "lib/redis/reply_reader.hpp"

namespace plimsoll::redis {

class Session;

/// A call and the coroutine that waits for it.
class Call final : public Batch {
 public:
  template <class Content>
  Call(Session& session, Content content) : Batch(std::move(content)), session_(session) {}

  /// Why its caller gave it up, if so. REQUIRES: it is over.
  [[nodiscard]] Result<void> ended();

 private:
  friend class Session;
  void on_done() noexcept override;

  Session& session_;  // Holds every call that is not done.
  std::chrono::milliseconds limit_{};
  TimePoint deadline_{};
  std::optional<Error> given_up_;
  asio::any_completion_handler<void()> resume_;
};

using CallPtr = std::shared_ptr<Call>;

/// A socket, hiredis' parser and a CallQueue between them. The input and output are Asio's and not
/// hiredis' own: its connect blocks, its asynchronous half wants the event loop to itself and
/// answers by callback alone. Lives as long as its Connection or as an operation of Asio that holds
/// it, so callbacks need no other guard than `is_open`.
///
/// Writing. Calls of one turn of the loop are collected and leave in one write. What the kernel
/// does not take waits for the socket, and what comes in is taken meanwhile: the server may be
/// blocked on writing to us while we write to it.
///
/// Waking. What an answer completes is resumed on the spot, at the end of the handler that took the
/// answer (`settle`), and what the resumed coroutines ask next is sent together after that. One
/// timer serves the deadlines of all calls and stays armed from call to call; it is disarmed when
/// the resumed coroutines leave the session idle.
class Session : public std::enable_shared_from_this<Session> {
 public:
  using Socket = asio::generic::stream_protocol::socket;

  /// `socket` is connected. `config` gives the limits.
  [[nodiscard]] static std::shared_ptr<Session> make(Socket socket, const Config& config);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// Sends the call as soon as its turn comes. Returns when it is answered, its results then being
  /// the caller's to move out; or earlier with the error of all that is not answered, the first
  /// `answered()` results being the caller's nevertheless. Errors: as Connection.
  [[nodiscard]] static asio::awaitable<Result<void>> run(std::shared_ptr<Session> self,
                                                         CallPtr call,
                                                         std::chrono::milliseconds limit);

  /// The parts of `run`: the call goes out in its turn, or why it does not.
  [[nodiscard]] Result<void> start(const CallPtr& call, std::chrono::milliseconds limit);
  /// Returns when the call, which is started and not done, is over. Not a coroutine; holds nothing
  /// but the call.
  [[nodiscard]] static asio::awaitable<void> finished(CallPtr call);

  /// Ends the connection and every call with this error.
  void shut_down(const Error& reason);

  /// See Connection::probe.
  [[nodiscard]] bool probe();

  /// The log-in is not work.
  void forget_counters() noexcept;

  [[nodiscard]] bool is_open() const noexcept { return is_open_; }
  [[nodiscard]] bool is_idle() const noexcept {
    return !queue_.has_in_flight() && !queue_.has_waiting();
  }
  [[nodiscard]] Counters counters() const noexcept;
  [[nodiscard]] std::chrono::milliseconds call_timeout() const noexcept { return call_timeout_; }
  [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }

 private:
  friend class Call;
  friend class SessionRegistry<Session>;

  Session(Socket socket, const Config& config);
  [[nodiscard]] SessionRegistry<Session>& registry() const;

  void settle();
  void resume_ready();
  void settle_later();
  void give_up(const CallPtr& call, Errc code, std::string why);
  void forget_waiters() noexcept;
  void arm(TimePoint deadline);
  void disarm();
  void on_deadline();

  void pump();
  void encode_next();
  void flush();
  void wait_readable();
  void wait_writable();
  void receive();
  void take(std::string_view bytes);
  void take_replies();
  void lose(Error reason);
  void lose_after_send_error(Error reason);
  [[nodiscard]] TimePoint silent_too_long() const noexcept;

  asio::any_io_executor executor_;
  std::chrono::milliseconds call_timeout_;
  std::chrono::milliseconds max_silence_;
  Socket socket_;
  bool is_open_ = true;
  /// A duplicate of the socket, only while output waits. Asio keeps asking epoll for writability of
  /// a descriptor once it has waited for it, which would wake the loop once more at every read.
  std::optional<asio::posix::stream_descriptor> writing_;
  CallQueue queue_;
  ReplyReader reader_;
  std::string out_;
  std::size_t written_ = 0;  ///< Of `out_`.
  std::vector<char> in_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_received_ = 0;
  Counters forgotten_;
  Error reason_{};     ///< Why the connection is gone.
  TimePoint heard_{};  ///< When the peer last said something, or was first asked after a pause.
  std::deque<asio::any_completion_handler<void()>> ready_;  ///< To be resumed.
  asio::steady_timer deadline_;
  TimePoint armed_for_ = TimePoint::max();
  bool is_settling_ = false;
  bool is_settle_posted_ = false;
  bool is_reading_ = false;
};

}  // namespace plimsoll::redis
