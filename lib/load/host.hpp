#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/core/result.hpp"

namespace plimsoll::load {

/// CPU time of the whole machine since boot, from the first line of /proc/stat.
struct CpuTimes {
  double idle = 0;   ///< Seconds of all cores together, waits for storage included.
  double steal = 0;  ///< Taken by the hypervisor.
};

/// Errors: kCorrupt when the line is not what the kernel documents.
[[nodiscard]] Result<CpuTimes> parse_cpu_times(std::string_view stat, double ticks_per_second);
[[nodiscard]] Result<CpuTimes> read_cpu_times();

/// How hard the machine is pressed, for the look *before* a run: during a run we cause it
/// ourselves.
struct Pressure {
  double cpu_some_avg10 = 0;  ///< Per cent of the last 10 s in which some task waited for a core.
  double io_some_avg10 = 0;   ///< The same for storage.
  double load1 = 0;
};

/// The number after `avg10=` of the line `some`.
[[nodiscard]] std::optional<double> parse_some_avg10(std::string_view pressure);

/// Errors: kUnavailable when the kernel has no /proc/pressure.
[[nodiscard]] Result<Pressure> read_pressure();

/// Why a run should not be started now; nullopt when nothing speaks against it. The figure is from
/// what PSI shows for one busy core: 5 to 11 %, idle 0.5 %.
[[nodiscard]] std::optional<std::string> contended(const Pressure& before,
                                                   double limit_percent = 20.0);

/// What others did to the machine during the window.
struct HostUse {
  double seconds = 0;  ///< Length of the interval that was observed.
  /// CPU used by neither our process tree, nor the given servers', nor the kernel's own threads, in
  /// cores. The kernel's threads work for us too (journal, block layer), so they are not foreign.
  double foreign_cores = 0;
  double steal_share = 0;  ///< Of all cores' time.
};

/// What is needed to tell `HostUse`, over one interval.
struct HostInterval {
  CpuTimes before;
  CpuTimes after;
  double seconds = 0;
  double cores = 1;
  /// CPU seconds of all other processes, where they can all be seen, and never more than what was
  /// neither idle nor `ours`; else that itself, which charges others with the interrupts of idle
  /// cores too.
  std::optional<double> others{};
  double ours = 0;  ///< CPU seconds of our trees; without `others` of the kernel's threads too.
  double tick = 0;  ///< The kernel's unit, in seconds.
};

/// What the kernel's ticks cannot resolve is given to us: over a short interval a small foreign
/// share stays unseen.
[[nodiscard]] HostUse host_use(const HostInterval& interval) noexcept;

}  // namespace plimsoll::load
