#pragma once

#include <libpq-fe.h>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/core/session_registry.hpp"
#include "lib/pg/canceller.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/group_queue.hpp"

namespace plimsoll::pg {

class Session;

/// A group and the coroutine that waits for it.
class Call final : public Group {
 public:
  template <class Content>
  Call(Session& session, Content content) : Group(std::move(content)), session_(session) {}

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

/// libpq, its socket and a GroupQueue between them. Lives as long as its Connection or as an
/// operation of Asio that holds it, so callbacks need no other guard than `is_open`.
///
/// Writing. While something cannot be sent, both directions are waited for, and what comes in is
/// taken: the server may be blocked on writing to us while we write to it.
///
/// Waking. What an answer completes is resumed on the spot, at the end of the handler that took the
/// answer (`settle`), and what the resumed coroutines ask next is sent together after that. Through
/// Asio's queue each call would cost one more turn of the loop, which is one more system call. One
/// timer serves the deadlines of all calls and stays armed from call to call for the same reason;
/// it is disarmed when the resumed coroutines leave the session idle.
///
/// Cancelling. See GroupQueue. A group whose caller gave up while the server executes it is
/// cancelled at once; one that nobody waits for when its turn comes is given kPatience first, since
/// most are over by then. A cancel that came between two statements of a group has no effect and is
/// repeated after the same time. PostgreSQL has delivered the signal before PQcancel returns, and a
/// backend drops a cancel that arrives while it reads its next command, so what is sent after that
/// is safe.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `connection` is logged in and in nonblocking pipeline mode. `config` gives the limits.
  [[nodiscard]] static std::shared_ptr<Session> make(asio::any_io_executor executor,
                                                     ConnectionPtr connection,
                                                     const Config& config);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// Sends the group as soon as its turn comes. Returns when it is answered, its answers then being
  /// the caller's to move out; or earlier with the error of all its statements, which then stay the
  /// session's. Errors: as Connection.
  [[nodiscard]] static asio::awaitable<Result<void>> run(std::shared_ptr<Session> self,
                                                         CallPtr call,
                                                         std::chrono::milliseconds limit);

  /// Ends the connection and every call with this error.
  void shut_down(const Error& reason);

  [[nodiscard]] bool is_open() const noexcept { return connection_ != nullptr; }
  [[nodiscard]] bool is_idle() const noexcept;
  [[nodiscard]] const Counters& counters() const noexcept { return queue_.counters(); }
  [[nodiscard]] const Config& config() const noexcept { return config_; }
  [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
  [[nodiscard]] int backend_pid() const noexcept { return backend_pid_; }
  [[nodiscard]] int server_version() const noexcept { return server_version_; }

 private:
  friend class Call;
  friend class SessionRegistry<Session>;

  Session(asio::any_io_executor executor, ConnectionPtr connection, const Config& config);
  [[nodiscard]] SessionRegistry<Session>& registry() const;

  [[nodiscard]] Result<void> start(const CallPtr& call, std::chrono::milliseconds limit);
  /// Returns when the call is over. Not a coroutine; holds nothing but the call.
  [[nodiscard]] static asio::awaitable<void> finished(CallPtr call);

  void settle();
  void resume_ready();
  void settle_later();
  void give_up(const CallPtr& call, Error why);
  void forget_waiters() noexcept;
  void arm(TimePoint deadline);
  void disarm();
  void on_deadline();

  void pump();
  [[nodiscard]] bool send(Group& group);
  [[nodiscard]] bool send_script(const Group::Statement& statement);
  [[nodiscard]] bool send_statement(const Group::Statement& statement);
  void wait_readable();
  void wait_writable();
  void on_ready(const boost::system::error_code& error);
  [[nodiscard]] bool receive();
  void take_answers();
  void take(PGresult* result);
  void end_of_script();

  void cancel_head();
  void watch_head();
  void lose(Error reason);
  [[nodiscard]] ConnectionPtr part_with(Error reason);
  void lose_to_pooler(Error error);
  void lose_with_libpq_message();

  asio::any_io_executor executor_;
  Config config_;
  ConnectionPtr connection_;
  int backend_pid_;
  int server_version_;
  asio::posix::stream_descriptor socket_;  ///< libpq's own; released, never closed.
  /// A duplicate of the socket, only while output waits. Asio keeps asking epoll for writability of
  /// a descriptor once it has waited for it, which would wake the loop once more at every read.
  std::optional<asio::posix::stream_descriptor> writing_;
  std::optional<asio::posix::stream_descriptor> cancelling_;
  asio::steady_timer patience_;
  const Group* watched_ = nullptr;  ///< Whom `patience_` is for.
  GroupQueue queue_;
  Error reason_{};  ///< Why the connection is gone.
  std::vector<const char*> values_;
  std::deque<asio::any_completion_handler<void()>> ready_;  ///< To be resumed.
  asio::steady_timer deadline_;
  TimePoint armed_for_ = TimePoint::max();
  bool is_settling_ = false;
  bool is_reading_ = false;
};

}  // namespace plimsoll::pg
