#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/clock.hpp"

namespace plimsoll::bench {

/// CPU seconds of the whole host since boot, and of ourselves, at one moment.
struct HostCpu {
  TimePoint at{};
  double busy = 0;    ///< Used by anybody's processes and the kernel for them, in seconds.
  double stolen = 0;  ///< Taken by the hypervisor, in seconds.
  double own = 0;     ///< This process, its ended children and the servers it was told of.
};

/// Reads /proc/stat and the process' own figures. About 50 us, and more for each server's process.
[[nodiscard]] HostCpu read_host_cpu(const std::vector<int>& server_pids = {});

/// What a row says when somebody else used the host while it ran.
struct Contention {
  double foreign_cores =
      0;  ///< Cores kept busy by others, at least: the clock's grain is subtracted.
  double stolen_share = 0;  ///< Of all CPU time, at least.
};

/// The share of the host's CPU time that the hypervisor took between two moments; a HostCpu{}
/// stands for the boot.
[[nodiscard]] double stolen_share(const HostCpu& begin, const HostCpu& end, long cores);

/// Between two moments. /proc/stat counts in ticks of 10 ms, so the figures are lower bounds: what
/// they show was there.
[[nodiscard]] Contention contention_between(const HostCpu& begin, const HostCpu& end, long cores);

/// Why numbers taken under this contention may not be believed; nullopt when they may (at most 5 %
/// of a core used by others, at most 2 % stolen).
[[nodiscard]] std::optional<std::string> contention_reason(const Contention& contention);

/// Watches the host over a session. A verdict needs some 1.5 s, more than a short repetition lasts;
/// each is therefore judged with what came just before it.
///
/// Thread safety: none.
class HostWatch {
 public:
  /// CPU of this process and of its children counts as ours from now on.
  void add_server(int pid);

  /// Call between measurements. Returns why the time since the last sample that is at least 1.5 s
  /// old (or the first) is not to be believed.
  [[nodiscard]] std::optional<std::string> sample();

  /// Over everything since the first sample.
  [[nodiscard]] Contention overall() const;

 private:
  std::vector<int> server_pids_;
  std::optional<HostCpu> first_;
  std::deque<HostCpu> recent_;
};

[[nodiscard]] HostWatch& host_watch();

/// Pressure figures of the host; what the kernel does not offer is absent.
struct Pressure {
  std::optional<double>
      cpu_some_avg10;  ///< Percent of the last 10 s in which some task waited for a CPU.
  std::optional<double> io_some_avg10;
  std::optional<double> load1;
};
[[nodiscard]] Pressure read_pressure();

}  // namespace plimsoll::bench
