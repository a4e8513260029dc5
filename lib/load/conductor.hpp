#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/core/clock.hpp"
#include "lib/load/loop.hpp"
#include "lib/load/sampler.hpp"
#include "lib/load/steady_state.hpp"

namespace plimsoll::load {

/// Leads a loop through warm-up, window and drain on the calling thread.
///
/// Thread safety: none.
class Conductor {
 public:
  /// `sampler` may be null: then the window is not marked. Both outlive the conductor.
  Conductor(const Options& options, Loop& loop, Sampler* sampler);

  /// Returns when the loop is done, or when nothing can be hoped for any more.
  void conduct();

  [[nodiscard]] bool steady() const noexcept { return steady_; }
  [[nodiscard]] std::string steady_detail() const { return steady_state_.describe(); }
  /// CPU time of our process during the window.
  [[nodiscard]] Nanoseconds window_cpu() const noexcept { return cpu_after_ - cpu_before_; }

 private:
  void check_warmup(TimePoint now);
  void open_window(std::optional<TimePoint> begin);
  void close_window();
  [[nodiscard]] bool hopeless(TimePoint now);
  [[nodiscard]] TimePoint next_duty() const;

  const Options& options_;
  Loop& loop_;
  Sampler* sampler_;
  Nanoseconds interval_;  // Of the warm-up's throughput.

  enum class Stage { kWarmup, kWindow, kDrain } stage_ = Stage::kWarmup;
  TimePoint start_;
  TimePoint interval_began_;
  TimePoint window_end_ = TimePoint::max();
  std::uint64_t ended_before_ = 0;  // When the interval began.
  std::uint64_t ended_seen_ = 0;    // When progress was last seen.
  TimePoint progress_at_;
  SteadyState steady_state_;
  bool steady_ = true;
  Nanoseconds cpu_before_{0};
  Nanoseconds cpu_after_{0};
};

}  // namespace plimsoll::load
