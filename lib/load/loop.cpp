#include "lib/load/loop.hpp"

#include <pthread.h>
#include <time.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestTurn = 1ms;
constexpr auto kCancelGrace = 1s;

}  // namespace

Loop::Loop(const Options& options, asio::any_io_executor subject, Operation operation)
    : options_(options),
      subject_(std::move(subject)),
      operation_(std::move(operation)),
      signals_(std::make_unique<asio::cancellation_signal[]>(options.concurrency)),
      tally_(options.mode, options.late_limit) {}

bool Loop::done() {
  const std::lock_guard lock(mutex_);
  return exhausted_locked() && coroutines_ == 0 && idle_locked();
}

TimePoint Loop::open_window(std::optional<TimePoint> begin, std::optional<Nanoseconds> length) {
  // The clock is read under the lock: no operation may stand in the books with a later start yet.
  const std::lock_guard lock(mutex_);
  const TimePoint from = begin ? *begin : Clock::now();
  const TimePoint to = length ? from + *length : TimePoint::max();
  tally_.open_window(from, to);
  return to;
}

Loop::Progress Loop::progress(TimePoint now) {
  const std::lock_guard lock(mutex_);
  return {tally_.ended(), backlog_locked(now), resting_locked(now)};
}

void Loop::wait_until(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return notified_; });
  notified_ = false;
}

void Loop::notify_locked() {
  notified_ = true;
  changed_.notify_one();
}

const Tally& Loop::finish() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    abandon_locked();
    tally_.freeze(Clock::now());
    if (coroutines_ == 0 && idle_locked()) return tally_;
  }
  asio::post(subject_, [self = shared_from_this()] {
    for (std::size_t i = 0; i < self->options_.concurrency; ++i) {
      self->signals_[i].emit(asio::cancellation_type::terminal);
    }
  });
  const TimePoint give_up = Clock::now() + kCancelGrace;
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, give_up, [this] { return coroutines_ == 0; });
  return tally_;
}

void Loop::enter_coroutine() {
  const std::lock_guard lock(mutex_);
  ++coroutines_;
  if (subject_clock_) return;
  clockid_t clock{};
  if (::pthread_getcpuclockid(::pthread_self(), &clock) != 0) return;
  subject_clock_ = clock;
  subject_cpu_before_ = thread_cpu_time();
}

void Loop::leave_coroutine() {
  const std::lock_guard lock(mutex_);
  --coroutines_;
  // Only the end of the run waits for this; to wake the conductor at every lull would be our noise.
  if (coroutines_ == 0 && (finishing_ || exhausted_locked())) notify_locked();
}

Nanoseconds Loop::subject_cpu() {
  const std::lock_guard lock(mutex_);
  timespec now{};
  if (!subject_clock_ || ::clock_gettime(*subject_clock_, &now) != 0) return Nanoseconds(0);
  return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec) - subject_cpu_before_;
}

bool Loop::turn_is_over(std::size_t caller, TimePoint now) {
  if (turn_holder_ != caller) {
    turn_holder_ = caller;
    turn_began_ = now;
    return false;
  }
  if (now - turn_began_ < kLongestTurn) return false;
  turn_began_ = now;
  return true;
}

Outcome exception_outcome() {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kFailed;
  outcome.items = 0;
  outcome.error_kind = "exception";
  return outcome;
}

}  // namespace plimsoll::load
