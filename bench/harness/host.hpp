#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/load/host.hpp"
#include "lib/load/validity.hpp"

namespace plimsoll::bench {

/// CPU time of the whole machine, and of what counts as ours in it, at one moment.
struct HostMoment {
  TimePoint at{};
  load::CpuTimes machine{};
  double ours = 0;  ///< Seconds: our process tree, the servers' and the kernel's own threads.
};

/// Some hundred µs and more for each process of ours and thread of the kernel. nullopt where
/// /proc/stat cannot be read: then nothing is ever held against a run.
[[nodiscard]] std::optional<HostMoment> read_host(const std::vector<int>& server_pids);

/// What others did between two moments. What the kernel's ticks cannot resolve is given to us.
[[nodiscard]] load::HostUse use_between(const HostMoment& begin, const HostMoment& end);

/// Watches the host over a session, for the cases that have no load runner to do it. A verdict
/// needs some 1.5 s, more than a short repetition lasts; each repetition is therefore judged with
/// what came just before it.
///
/// Thread safety: none.
class HostWatch {
 public:
  /// The process tree under `pid` counts as ours from now on.
  void add_server(int pid);

  /// Call between measurements: VALID, or HOST_CONTENDED with the reason, for the time since the
  /// youngest sample that is at least 1.5 s old (or the first). Looks again only when the last look
  /// is 100 ms old.
  [[nodiscard]] load::Validity sample();

  /// Over everything since the first sample.
  [[nodiscard]] load::HostUse overall() const;

 private:
  std::vector<int> server_pids_;
  std::optional<HostMoment> first_;
  std::deque<HostMoment> recent_;
  load::Validity last_;
};

[[nodiscard]] HostWatch& host_watch();

/// A reading of the canary (lib/core/canary.hpp) that is not older than 100 ms. Call between
/// measurements. Thread safety: none.
[[nodiscard]] std::chrono::nanoseconds recent_canary();

}  // namespace plimsoll::bench
