#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "lib/core/clock.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/tally.hpp"

namespace plimsoll::load {

/// What the closed and the open way of starting operations share: the books, the lock between the
/// conductor's thread and the subject's, and the end.
///
/// The coroutines on the subject's executor own the loop together with the conductor. One that
/// never ends therefore refers to nothing that is gone, only to books that are closed.
///
/// Thread safety: public calls come from the conductor's thread.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  Loop(const Options& options, asio::any_io_executor subject, Operation operation);
  virtual ~Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// The first operation may start.
  virtual void launch(TimePoint start) = 0;

  /// Hands over what is due, and says when to be called again; max() when only an ended operation
  /// can change anything.
  virtual TimePoint pace(TimePoint now) = 0;

  /// Whether everything was started and has ended.
  [[nodiscard]] bool done();

  /// The window begins at `begin`, or now, and lasts for `length`, or until `finish`. Returns its
  /// end, max() without a length. REQUIRES: a `begin` is given only before `launch`.
  TimePoint open_window(std::optional<TimePoint> begin, std::optional<Nanoseconds> length);

  struct Progress {
    std::uint64_t ended;
    bool backlog;  ///< Operations are due that could not start.
    bool resting;  ///< Nothing is open, and the plan owes nothing yet.
  };
  [[nodiscard]] Progress progress(TimePoint now);

  /// Returns at `deadline`, or as soon as something happened that `pace` or `done` should look at.
  void wait_until(TimePoint deadline);

  /// Closes the books, cancels what is still open and waits for it to end, but not for ever.
  /// Returns the books.
  [[nodiscard]] const Tally& finish();

  /// CPU time of the subject's thread since the first operation was about to start; 0 when there
  /// was none or the thread is gone.
  [[nodiscard]] Nanoseconds subject_cpu();

 protected:
  // The functions whose name ends in _locked REQUIRE that the lock is held.
  [[nodiscard]] virtual bool exhausted_locked() const = 0;
  [[nodiscard]] virtual bool backlog_locked(TimePoint now) const = 0;
  [[nodiscard]] virtual bool idle_locked() const { return tally_.open() == 0; }
  [[nodiscard]] virtual bool resting_locked(TimePoint now) const = 0;
  /// What was promised and will never start now is counted as skipped.
  virtual void abandon_locked() = 0;
  void notify_locked();

  /// A coroutine of the subject's begins, or has ended.
  void enter_coroutine();
  void leave_coroutine();

  /// Whether `caller` has had the subject's thread for so long that others should get a turn.
  /// Called on the subject's thread only.
  [[nodiscard]] bool turn_is_over(std::size_t caller, TimePoint now);

  const Options options_;
  const asio::any_io_executor subject_;
  const Operation operation_;
  const std::unique_ptr<asio::cancellation_signal[]>
      signals_;  // One a caller; subject's thread only.

  std::mutex mutex_;
  Tally tally_;

 private:
  std::condition_variable changed_;
  bool notified_ = false;
  bool finishing_ = false;
  std::size_t coroutines_ = 0;
  std::optional<clockid_t> subject_clock_;
  Nanoseconds subject_cpu_before_{0};

  std::size_t turn_holder_ = static_cast<std::size_t>(-1);
  TimePoint turn_began_;
};

/// Closed: `concurrency` coroutines, each with one operation at a time.
[[nodiscard]] std::shared_ptr<Loop> make_closed_loop(const Options& options,
                                                     asio::any_io_executor subject,
                                                     Operation operation);

/// Open: arrivals by plan, at most `concurrency` in flight. REQUIRES: options.arrivals.check().
[[nodiscard]] std::shared_ptr<Loop> make_open_loop(const Options& options,
                                                   asio::any_io_executor subject,
                                                   Operation operation);

/// What is left of an exception that leaves an operation.
[[nodiscard]] Outcome exception_outcome();

}  // namespace plimsoll::load
