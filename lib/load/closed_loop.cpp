#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "lib/load/loop.hpp"

namespace plimsoll::load {
namespace {

class ClosedLoop final : public Loop {
 public:
  using Loop::Loop;

  void launch(TimePoint) override {
    const auto self = std::static_pointer_cast<ClosedLoop>(shared_from_this());
    asio::post(subject_, [self] {
      for (std::size_t caller = 0; caller < self->options_.concurrency; ++caller) {
        self->enter_coroutine();
        asio::co_spawn(self->subject_, call(self, caller),
                       asio::bind_cancellation_slot(
                           self->signals_[caller].slot(),
                           [self](const std::exception_ptr&) { self->leave_coroutine(); }));
      }
    });
  }

  TimePoint pace(TimePoint) override { return TimePoint::max(); }

 private:
  static asio::awaitable<void> call(std::shared_ptr<ClosedLoop> self, std::size_t caller) {
    while (const auto flight = self->begin()) {
      const OpContext context{flight->sequence, caller};
      Outcome outcome;
      try {
        outcome = co_await self->operation_(context);
      } catch (...) {
        outcome = exception_outcome();
      }
      const TimePoint now = Clock::now();
      self->end(*flight, outcome, now);
      if (self->turn_is_over(caller, now)) {
        co_await asio::post(self->subject_, asio::use_awaitable);
      }
    }
  }

  std::optional<Flight> begin() {
    const TimePoint now = Clock::now();
    const std::lock_guard lock(mutex_);
    if (stopped_ || now >= tally_.window_end() || all_started_locked()) return std::nullopt;
    ++started_;
    const bool measured = tally_.plan(now);
    return tally_.start(now, now, measured);
  }

  void end(const Flight& flight, const Outcome& outcome, TimePoint now) {
    const std::lock_guard lock(mutex_);
    tally_.finish(flight, outcome, now);
  }

  [[nodiscard]] bool all_started_locked() const {
    return options_.fixed_operations > 0 && started_ >= options_.fixed_operations;
  }

  // Without a fixed number the callers stop by the clock.
  [[nodiscard]] bool exhausted_locked() const override {
    return all_started_locked() || Clock::now() >= tally_.window_end();
  }

  [[nodiscard]] bool backlog_locked(TimePoint) const override { return false; }

  // Callers rest never: if nothing ends, something is wrong.
  [[nodiscard]] bool resting_locked(TimePoint) const override { return false; }

  void abandon_locked() override {
    stopped_ = true;
    for (; started_ < options_.fixed_operations; ++started_) tally_.skip(tally_.plan(Clock::now()));
  }

  std::uint64_t started_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::shared_ptr<Loop> make_closed_loop(const Options& options, asio::any_io_executor subject,
                                       Operation operation) {
  return std::make_shared<ClosedLoop>(options, std::move(subject), std::move(operation));
}

}  // namespace plimsoll::load
