#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>
#include <vector>

#include "lib/load/arrivals.hpp"
#include "lib/load/loop.hpp"

namespace plimsoll::load {
namespace {

/// An arrival that has a slot and is on its way to the subject's thread.
struct Arrival {
  TimePoint planned;
  std::size_t slot;
  bool measured;
};

/// The plan is read where a slot is free for what it says, so a backlog costs time and no memory.
class OpenLoop final : public Loop {
 public:
  OpenLoop(const Options& options, asio::any_io_executor subject, Operation operation)
      : Loop(options, std::move(subject), std::move(operation)) {
    free_slots_.reserve(options.concurrency);
    for (std::size_t slot = options.concurrency; slot > 0; --slot) free_slots_.push_back(slot - 1);
  }

  void launch(TimePoint start) override {
    const std::lock_guard lock(mutex_);
    plan_.emplace(options_.arrivals, options_.seed, start);
    slot_free_since_ = start;
  }

  TimePoint pace(TimePoint now) override {
    std::vector<Arrival> batch;
    TimePoint next = TimePoint::max();
    {
      const std::lock_guard lock(mutex_);
      while (due_locked(now) && !free_slots_.empty()) {
        const std::size_t slot = free_slots_.back();
        free_slots_.pop_back();
        batch.push_back(take_locked(slot, now));
      }
      pacer_waits_for_slot_ = due_locked(now);
      if (!pacer_waits_for_slot_) {
        next = plan_ended_locked() ? TimePoint::max() : plan_->peek();
      } else if (options_.mode == Mode::kOpenSkip) {
        next = plan_->peek() + options_.late_limit;
      }
    }
    if (!batch.empty()) hand_over(std::move(batch));
    return next;
  }

 private:
  void hand_over(std::vector<Arrival> batch) {
    const auto self = std::static_pointer_cast<OpenLoop>(shared_from_this());
    asio::post(subject_, [self, arrivals = std::move(batch)] {
      for (const Arrival& arrival : arrivals) {
        self->enter_coroutine();
        asio::co_spawn(self->subject_, serve(self, arrival),
                       asio::bind_cancellation_slot(
                           self->signals_[arrival.slot].slot(),
                           [self](const std::exception_ptr&) { self->leave_coroutine(); }));
      }
    });
  }

  static asio::awaitable<void> serve(std::shared_ptr<OpenLoop> self, Arrival first) {
    std::optional<Arrival> arrival = first;
    while (arrival) {
      const std::size_t slot = arrival->slot;
      if (const auto flight = self->begin(*arrival)) {
        const OpContext context{flight->sequence, slot};
        Outcome outcome;
        try {
          outcome = co_await self->operation_(context);
        } catch (...) {
          outcome = exception_outcome();
        }
        const TimePoint now = Clock::now();
        arrival = self->end(*flight, outcome, slot, now);
        if (arrival && self->turn_is_over(slot, now)) {
          co_await asio::post(self->subject_, asio::use_awaitable);
        }
      } else {
        arrival = self->take_over(slot);
      }
    }
  }

  /// Nothing when the arrival came too late to be worth starting, or after the run was given up.
  std::optional<Flight> begin(const Arrival& arrival) {
    const TimePoint now = Clock::now();
    const std::lock_guard lock(mutex_);
    if (stopped_) return std::nullopt;
    --(arrival.measured ? handed_window_ : handed_warmup_);
    if (too_late(arrival.planned, now)) {
      tally_.skip(arrival.measured);
      return std::nullopt;
    }
    return tally_.start(arrival.planned, now, arrival.measured);
  }

  std::optional<Arrival> end(const Flight& flight, const Outcome& outcome, std::size_t slot,
                             TimePoint now) {
    const std::lock_guard lock(mutex_);
    tally_.finish(flight, outcome, now);
    return take_over_locked(slot, now);
  }

  std::optional<Arrival> take_over(std::size_t slot) {
    const TimePoint now = Clock::now();
    const std::lock_guard lock(mutex_);
    return take_over_locked(slot, now);
  }

  /// At the cap, a slot that becomes free takes what waits for it; else it is given back, and what
  /// is due is the pacer's business.
  std::optional<Arrival> take_over_locked(std::size_t slot, TimePoint now) {
    if (free_slots_.empty() && !stopped_) {
      slot_free_since_ = now;
      if (due_locked(now)) return take_locked(slot, now);
    }
    free_slots_.push_back(slot);
    if (pacer_waits_for_slot_) notify_locked();
    return std::nullopt;
  }

  [[nodiscard]] bool too_late(TimePoint planned, TimePoint now) const {
    return options_.mode == Mode::kOpenSkip && now - planned > options_.late_limit;
  }

  [[nodiscard]] bool plan_ended_locked() const {
    if (!plan_ || stopped_) return true;
    if (options_.fixed_operations > 0) return taken_ >= options_.fixed_operations;
    return plan_->peek() >= tally_.window_end();
  }

  /// Whether an arrival waits to be started. What came too late for open-skip is skipped on the
  /// way.
  bool due_locked(TimePoint now) {
    while (!plan_ended_locked() && plan_->peek() <= now) {
      if (!too_late(plan_->peek(), now)) return true;
      const bool cap_hit = free_slots_.empty() || plan_->peek() < slot_free_since_;
      const TimePoint planned = pop_locked();
      const bool measured = tally_.plan(planned);
      tally_.note_issue(measured, cap_hit ? Nanoseconds(0) : now - planned, cap_hit);
      tally_.skip(measured);
    }
    return false;
  }

  Arrival take_locked(std::size_t slot, TimePoint now) {
    const TimePoint planned = pop_locked();
    const bool measured = tally_.plan(planned);
    // What waited for a slot is the subject's slowness; what waited beside a free one is ours.
    tally_.note_issue(measured, now - std::max(planned, slot_free_since_),
                      planned < slot_free_since_);
    ++(measured ? handed_window_ : handed_warmup_);
    return {planned, slot, measured};
  }

  TimePoint pop_locked() {
    ++taken_;
    return plan_->pop();
  }

  [[nodiscard]] bool exhausted_locked() const override { return plan_ended_locked(); }

  [[nodiscard]] bool backlog_locked(TimePoint now) const override {
    return plan_ && now - plan_->peek() > options_.late_limit;
  }

  [[nodiscard]] bool idle_locked() const override {
    return tally_.open() + handed_window_ + handed_warmup_ == 0;
  }

  [[nodiscard]] bool resting_locked(TimePoint now) const override {
    return idle_locked() && plan_ && plan_->peek() > now;
  }

  void abandon_locked() override {
    while (!plan_ended_locked() &&
           (plan_->peek() <= Clock::now() || options_.fixed_operations > 0)) {
      tally_.skip(tally_.plan(pop_locked()));
    }
    for (; handed_window_ > 0; --handed_window_) tally_.skip(true);
    for (; handed_warmup_ > 0; --handed_warmup_) tally_.skip(false);
    stopped_ = true;
  }

  std::optional<ArrivalPlan> plan_;
  std::vector<std::size_t> free_slots_;
  std::uint64_t taken_ = 0;          // From the plan, skipped ones included.
  std::uint64_t handed_warmup_ = 0;  // Given a slot, not yet started.
  std::uint64_t handed_window_ = 0;
  TimePoint slot_free_since_;  // When the cap was last left.
  bool pacer_waits_for_slot_ = false;
  bool stopped_ = false;
};

}  // namespace

std::shared_ptr<Loop> make_open_loop(const Options& options, asio::any_io_executor subject,
                                     Operation operation) {
  return std::make_shared<OpenLoop>(options, std::move(subject), std::move(operation));
}

}  // namespace plimsoll::load
