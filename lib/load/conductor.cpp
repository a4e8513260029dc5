#include "lib/load/conductor.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;

/// Lets the calling thread sleep to the microsecond; the kernel's default adds up to 50 µs to each
/// wake-up. Puts the old value back.
class PreciseSleep {
 public:
  PreciseSleep() : before_(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) {
    ::prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
  }
  ~PreciseSleep() {
    if (before_ > 0) ::prctl(PR_SET_TIMERSLACK, before_, 0, 0, 0);
  }
  PreciseSleep(const PreciseSleep&) = delete;
  PreciseSleep& operator=(const PreciseSleep&) = delete;

 private:
  int before_;
};

}  // namespace

Conductor::Conductor(const Options& options, Loop& loop, Sampler* sampler)
    : options_(options),
      loop_(loop),
      sampler_(sampler),
      interval_(std::clamp<Nanoseconds>(options.warmup_floor / SteadyState::kIntervals, 10ms, 1s)) {
}

void Conductor::conduct() {
  const PreciseSleep precise;
  // The plan counts from the agreed moment, not from when we woke up.
  start_ = std::max(options_.start_at, Clock::now());
  std::this_thread::sleep_until(start_);
  interval_began_ = progress_at_ = start_;
  const bool warm = options_.fixed_operations == 0 && options_.warmup_cap > 0ms;
  if (!warm) open_window(start_);
  loop_.launch(start_);
  for (;;) {
    const TimePoint now = Clock::now();
    if (stage_ == Stage::kWarmup) check_warmup(now);
    if (stage_ == Stage::kWindow && now >= window_end_) close_window();
    const TimePoint next = loop_.pace(now);
    // A plan may run out before its window does; the window is measured to its end all the same.
    const bool may_end = stage_ == Stage::kDrain || options_.fixed_operations > 0;
    if ((may_end && loop_.done()) || hopeless(now)) break;
    loop_.wait_until(std::min(next, next_duty()));
  }
  if (stage_ != Stage::kDrain) close_window();
}

void Conductor::check_warmup(TimePoint now) {
  if (now - interval_began_ < interval_) return;
  const auto progress = loop_.progress(now);
  steady_state_.add(progress.ended - ended_before_, now - interval_began_);
  ended_before_ = progress.ended;
  interval_began_ = now;
  if (now - start_ < options_.warmup_floor) return;
  // What the plan still owes would be paid inside the window.
  steady_ = steady_state_.reached() && !progress.backlog;
  if (steady_ || now - start_ >= options_.warmup_cap) open_window(std::nullopt);
}

void Conductor::open_window(std::optional<TimePoint> begin) {
  stage_ = Stage::kWindow;
  if (sampler_ != nullptr) sampler_->begin_window();
  cpu_before_ = process_cpu_time();
  std::optional<Nanoseconds> length;
  if (options_.fixed_operations == 0) length = options_.window;
  window_end_ = loop_.open_window(begin, length);
}

void Conductor::close_window() {
  stage_ = Stage::kDrain;
  cpu_after_ = process_cpu_time();
  if (sampler_ != nullptr) sampler_->end_window();
}

bool Conductor::hopeless(TimePoint now) {
  if (options_.fixed_operations == 0) {
    return stage_ == Stage::kDrain && now >= window_end_ + options_.drain_limit;
  }
  const auto progress = loop_.progress(now);
  if (progress.ended != ended_seen_ || progress.resting) {
    ended_seen_ = progress.ended;
    progress_at_ = now;
  }
  return now - progress_at_ >= std::max<Nanoseconds>(options_.drain_limit, 1ms);
}

TimePoint Conductor::next_duty() const {
  if (options_.fixed_operations > 0)
    return progress_at_ + std::max<Nanoseconds>(options_.drain_limit, 1ms);
  switch (stage_) {
    case Stage::kWarmup:
      return interval_began_ + interval_;
    case Stage::kWindow:
      return window_end_;
    case Stage::kDrain:
      return window_end_ + options_.drain_limit;
  }
  return Clock::now();
}

}  // namespace plimsoll::load
