#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/query.hpp"
#include "lib/pg/rows.hpp"
#include "lib/pg/statement_names.hpp"
#include "lib/pg/transaction_tracker.hpp"

namespace plimsoll::pg {

/// One call: the statements between two Syncs and, later, their answers.
class Group {
 public:
  enum class Stage { kWaiting, kInFlight, kDone };
  enum class Step { kDeallocate, kParse, kExecute };

  struct Statement {
    explicit Statement(Query q) : query(std::move(q)) {}

    Query query;
    StatementNames::Entry* name = nullptr;
    Step first = Step::kExecute;  ///< What is sent for it: this step and those after it.
    bool answered = false;
    Result<Rows> result = fail(Errc::kProtocol, "no answer");
  };

  explicit Group(std::vector<Query> queries);
  explicit Group(Query query);
  /// A script in the simple protocol.
  explicit Group(std::string script);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  [[nodiscard]] bool is_done() const noexcept { return stage_ == Stage::kDone; }
  [[nodiscard]] bool is_script() const noexcept { return is_script_; }
  [[nodiscard]] std::vector<Statement>& statements() noexcept { return statements_; }

 protected:
  /// Told once, when the answers are complete and the group was not withdrawn. May not call back
  /// into the queue.
  virtual void on_done() noexcept {}

 private:
  friend class GroupQueue;

  /// The text whose answer comes next; empty in a script and behind the last statement.
  [[nodiscard]] std::string_view current_text() const noexcept;

  std::vector<Statement> statements_;
  std::size_t at_ = 0;  ///< The statement whose answer comes next.
  Step step_ = Step::kExecute;
  Stage stage_ = Stage::kWaiting;
  bool is_script_ = false;
  bool failed_ = false;
  bool cancelled_ = false;     ///< Ended in SQLSTATE 57014.
  bool abandoned_ = false;     ///< Nobody waits any more.
  bool exposed_ = false;       ///< A cancel meant for a group before it may have hit it.
  bool began_inside_ = false;  ///< A transaction block was open when its turn came.
  bool has_control_ = false;   ///< It began or ended a transaction itself.
};

using GroupPtr = std::shared_ptr<Group>;

/// The order of groups on one connection, and what each answer of the server means. Plain state: no
/// socket, no clock, no libpq, so that every rule is tested without a server.
///
/// Rules. Groups are sent and answered first in, first out. A script travels alone. Behind a Parse
/// of a name, groups that bind this name wait for its answer.
///
/// Cancelling. PostgreSQL cancels whatever the backend executes when the signal arrives, which by
/// then may be the group behind the one that was meant. So, from the start of a cancel until the
/// server has taken it, nothing new is sent; and a group that was already in flight behind the
/// target and then ends in 57014 is sent again, if all of it was undone and all of it may be
/// repeated; else its caller gets kConflict ("retry from the start").
///
/// Thread safety: none.
class GroupQueue {
 public:
  explicit GroupQueue(std::size_t max_in_flight) noexcept : max_in_flight_(max_in_flight) {}

  /// Puts a group at the end. Errors: kInvalidArgument (a name that stands for another text).
  [[nodiscard]] Result<void> add(GroupPtr group);

  /// The next group to send, now in flight, or null when none waits or all must wait. Its
  /// statements say which steps to send.
  [[nodiscard]] GroupPtr next_to_send();

  /// Answers, in the order in which they arrive. They belong to the oldest group in flight.
  /// REQUIRES: has_in_flight().
  void on_rows(Rows rows);
  void on_error(Error error);
  void on_skipped();         ///< Not executed, since an earlier statement of the group failed.
  void on_end_of_command();  ///< libpq's null result.
  /// The Sync's own answer, or the end of a script. `in_block`: whether a transaction block is
  /// open, where libpq knows.
  void on_sync(std::optional<bool> in_block);

  enum class Withdrawn {
    kUnsent,  ///< The server never hears of it.
    kLater,   ///< Its answer will be dropped; it is not its turn yet.
    kNow,     ///< The server is executing it: cancel.
  };
  /// The caller of a group that is not done gives up.
  [[nodiscard]] Withdrawn withdraw(const GroupPtr& group);

  void on_cancel_started();
  /// The server has taken the cancel, or could not be reached.
  void on_cancel_finished() noexcept { is_cancelling_ = false; }

  /// Every group that is not done, oldest first.
  [[nodiscard]] std::vector<GroupPtr> pending() const;

  /// Ends every group with `error`, which says `unsent` to those that wait.
  void fail_all(const Error& error);

  [[nodiscard]] bool has_in_flight() const noexcept { return !in_flight_.empty(); }
  [[nodiscard]] bool has_waiting() const noexcept { return !waiting_.empty(); }
  [[nodiscard]] bool is_cancelling() const noexcept { return is_cancelling_; }
  [[nodiscard]] bool in_block() const noexcept { return transaction_.in_block(); }
  /// The oldest group in flight when nobody waits for it, else null.
  [[nodiscard]] const Group* abandoned_head() const noexcept;
  /// REQUIRES: has_in_flight().
  [[nodiscard]] const Group& head() const noexcept { return *in_flight_.front(); }
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

 private:
  void plan(Group& group);
  void finish(const GroupPtr& group);
  void answer(Group& group, Result<Rows> result);
  void resolve_name(Group& group, bool succeeded, const Error* error);
  [[nodiscard]] bool must_wait(const Group& group) const noexcept;
  [[nodiscard]] bool can_repeat(const Group& group) const noexcept;
  void repeat(GroupPtr group);
  void release_names(Group& group) noexcept;

  std::size_t max_in_flight_;
  std::deque<GroupPtr> waiting_;
  std::deque<GroupPtr> in_flight_;
  StatementNames names_;
  TransactionTracker transaction_;
  Counters counters_;
  bool is_cancelling_ = false;
};

}  // namespace plimsoll::pg
