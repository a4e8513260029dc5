#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/redis/command.hpp"
#include "lib/redis/reply.hpp"

namespace plimsoll::redis {

/// One call: its commands and, later, their answers.
class Batch {
 public:
  enum class Stage { kWaiting, kInFlight, kDone };

  explicit Batch(Command command) noexcept;
  /// REQUIRES: not empty.
  explicit Batch(std::vector<Command> commands);
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  virtual ~Batch() = default;

  [[nodiscard]] bool is_done() const noexcept { return stage_ == Stage::kDone; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const Command> commands() const noexcept;
  /// Nothing is ever sent twice, so once encoded the commands only take memory.
  void forget_commands() noexcept;
  /// One for each command; those behind `answered()` hold the error that ended the call.
  [[nodiscard]] std::span<Result<Reply>> results() noexcept;
  [[nodiscard]] std::size_t answered() const noexcept { return answered_; }

 protected:
  /// Told once, when the answers are complete and the call was not withdrawn. May not call back
  /// into the queue.
  virtual void on_done() noexcept {}

 private:
  friend class CallQueue;

  // Most calls are of one command, which then needs no allocation of its own.
  Command one_;
  std::vector<Command> many_;
  Result<Reply> one_result_ = fail(Errc::kProtocol, "no answer");
  std::vector<Result<Reply>> many_results_;
  std::size_t size_;
  std::size_t answered_ = 0;
  Stage stage_ = Stage::kWaiting;
  bool is_abandoned_ = false;  ///< Nobody waits any more.
};

using BatchPtr = std::shared_ptr<Batch>;

/// The order of calls on one connection, and whose each answer is. Plain state: no socket, no
/// clock, no hiredis, so that every rule is tested without a server.
///
/// Rules. Calls are sent and answered first in, first out, and what was sent is never sent again.
/// Redis knows no cancelling: the answer to a call whose caller gave up is taken in its turn and
/// dropped.
///
/// Thread safety: none.
class CallQueue {
 public:
  /// Commands in flight at once. A call that is larger goes when its first command fits.
  explicit CallQueue(std::size_t max_in_flight) noexcept : max_in_flight_(max_in_flight) {}

  /// Puts a call at the end.
  void add(BatchPtr batch) { waiting_.push_back(std::move(batch)); }

  /// The next call to send, now in flight, or null when none waits or all must wait.
  [[nodiscard]] BatchPtr next_to_send();

  /// An answer; it belongs to the oldest command in flight. REQUIRES: has_in_flight().
  void on_reply(Reply reply);

  enum class Withdrawn {
    kUnsent,  ///< The server never hears of it.
    kSent,    ///< Its answers will be dropped.
  };
  /// The caller of a call that is not done gives up.
  [[nodiscard]] Withdrawn withdraw(const BatchPtr& batch);

  /// Ends every call with this error and whether the server can have heard of it. Answers that have
  /// come already stay.
  void fail_all(const Error& error);

  /// Every call that is not done, oldest first.
  [[nodiscard]] std::vector<BatchPtr> pending() const;

  [[nodiscard]] bool has_in_flight() const noexcept { return !in_flight_.empty(); }
  [[nodiscard]] bool has_waiting() const noexcept { return !waiting_.empty(); }
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

 private:
  static void finish(Batch& batch);

  std::size_t max_in_flight_;
  std::size_t commands_in_flight_ = 0;
  std::deque<BatchPtr> waiting_;
  std::deque<BatchPtr> in_flight_;
  Counters counters_;
};

/// What is said of a call that a lost connection ended: sent, so nobody can know; or not.
[[nodiscard]] Error indeterminate(Error error);
[[nodiscard]] Error not_sent(Error error);

}  // namespace plimsoll::redis
