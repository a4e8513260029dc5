#pragma once

#include <cstdint>

#include "lib/core/clock.hpp"
#include "lib/load/histogram.hpp"
#include "lib/load/ledger.hpp"
#include "lib/load/runner.hpp"

namespace plimsoll::load {

/// An operation between its start and its end.
struct Flight {
  std::uint64_t sequence;
  TimePoint planned;  ///< Closed: the start.
  TimePoint start;
  bool measured;  ///< Of the window, not of the warm-up.
};

/// The books of one run: who started and ended when, told apart into warm-up and window.
///
/// Pure: it knows no clock and no thread, so that every rule has a test without waiting. Everything
/// that happens before `open_window` is warm-up; from there on an operation belongs to the window
/// if its planned time lies in it.
///
/// Thread safety: none; the run's lock guards it.
class Tally {
 public:
  Tally(Mode mode, Nanoseconds late_limit) : mode_(mode), late_limit_(late_limit) {}

  /// The window is [begin, end). REQUIRES: called once, no stamp given so far is above `begin`.
  void open_window(TimePoint begin, TimePoint end);
  [[nodiscard]] TimePoint window_end() const noexcept { return end_; }

  /// An operation enters the books. Returns whether it belongs to the window.
  bool plan(TimePoint planned);
  void skip(bool measured);
  [[nodiscard]] Flight start(TimePoint planned, TimePoint now, bool measured);
  void finish(const Flight& flight, const Outcome& outcome, TimePoint now);

  /// Open modes: how late the generator itself was, and whether the arrival waited for a slot.
  void note_issue(bool measured, Nanoseconds pacer_lag, bool cap_hit);

  /// Closes the books: what is open now stays in flight, and later calls change nothing. A window
  /// without end (fixed operations) ends with the last operation.
  void freeze(TimePoint now);

  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_; }
  [[nodiscard]] std::uint64_t open() const noexcept { return open_warmup_ops_ + open_window_ops_; }

  /// Fills in what the books know. REQUIRES: frozen.
  void fill(Report& report) const;
  void fill(Facts& facts) const;

 private:
  /// Nanoseconds of the window that lie before `when`.
  [[nodiscard]] std::int64_t inside(TimePoint when) const noexcept;
  [[nodiscard]] Ledger& ledger(bool measured) noexcept { return measured ? window_ : warmup_; }

  Mode mode_;
  Nanoseconds late_limit_;
  TimePoint begin_ = TimePoint::max();
  TimePoint end_ = TimePoint::max();
  TimePoint last_end_{};
  bool frozen_ = false;

  Ledger warmup_;
  Ledger window_;
  Histogram service_;
  Histogram response_;
  Histogram lag_;
  Histogram pacer_lag_;
  std::uint64_t cap_hits_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t open_warmup_ops_ = 0;
  std::uint64_t open_window_ops_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t items_ = 0;

  // Time in flight inside the window, as ends minus starts: it needs no order of the stamps. What
  // the warm-up's operations contribute, and what the window's take after its end, are kept apart,
  // so that Little's law can be checked exactly. All in nanoseconds.
  std::int64_t in_flight_ns_ = 0;
  std::int64_t head_ns_ = 0;
  std::int64_t tail_ns_ = 0;
};

}  // namespace plimsoll::load
