#include "lib/load/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "lib/load/proc_file.hpp"

namespace plimsoll::load {

Result<CpuTimes> parse_cpu_times(std::string_view stat, double ticks_per_second) {
  const auto line = stat.substr(0, stat.find('\n'));
  const auto fields = split_fields(line);
  // user nice system idle iowait irq softirq steal; guest time is already in user.
  if (fields.size() < 9 || fields[0] != "cpu") {
    return fail(Errc::kCorrupt, fmt::format("/proc/stat begins with \"{}\"", line));
  }
  std::array<double, 8> ticks{};
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const auto value = parse_number(fields[i + 1]);
    if (!value) {
      return fail(Errc::kCorrupt,
                  fmt::format("/proc/stat has \"{}\" for a number of ticks", fields[i + 1]));
    }
    ticks[i] = static_cast<double>(*value);
  }
  CpuTimes times;
  times.idle = (ticks[3] + ticks[4]) / ticks_per_second;
  times.steal = ticks[7] / ticks_per_second;
  return times;
}

Result<CpuTimes> read_cpu_times() {
  const auto stat = read_proc("/proc/stat");
  if (!stat) return fail(Errc::kUnavailable, "/proc/stat cannot be read");
  return parse_cpu_times(*stat, ticks_per_second());
}

std::optional<double> parse_some_avg10(std::string_view pressure) {
  constexpr std::string_view kPrefix = "some avg10=";
  if (!pressure.starts_with(kPrefix)) return std::nullopt;
  const std::string number(
      pressure.substr(kPrefix.size(), pressure.find(' ', kPrefix.size()) - kPrefix.size()));
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0') return std::nullopt;
  return value;
}

Result<Pressure> read_pressure() {
  Pressure pressure;
  const auto cpu = read_proc("/proc/pressure/cpu");
  const auto io = read_proc("/proc/pressure/io");
  const auto cpu_some = cpu ? parse_some_avg10(*cpu) : std::nullopt;
  const auto io_some = io ? parse_some_avg10(*io) : std::nullopt;
  if (!cpu_some || !io_some) {
    return fail(Errc::kUnavailable,
                "/proc/pressure cannot be read; the kernel needs CONFIG_PSI and no psi=0");
  }
  pressure.cpu_some_avg10 = *cpu_some;
  pressure.io_some_avg10 = *io_some;
  if (::getloadavg(&pressure.load1, 1) != 1) pressure.load1 = 0;
  return pressure;
}

std::optional<std::string> contended(const Pressure& before, double limit_percent) {
  const double worst = std::max(before.cpu_some_avg10, before.io_some_avg10);
  if (worst <= limit_percent) return std::nullopt;
  return fmt::format("before the run, tasks waited for {} {:.0f} % of the time (limit {:.0f} %)",
                     before.cpu_some_avg10 >= before.io_some_avg10 ? "a core" : "storage", worst,
                     limit_percent);
}

HostUse host_use(const HostInterval& interval) noexcept {
  HostUse use;
  use.seconds = interval.seconds;
  const double capacity = interval.cores * interval.seconds;
  if (capacity <= 0) return use;
  const double steal = interval.after.steal - interval.before.steal;
  // What is not idle was used. The fields for user and system time would say it less well: a tick
  // goes to whichever task it happens to hit, while idle and steal are kept to the nanosecond.
  const double idle = interval.after.idle - interval.before.idle;
  const double rest = capacity - idle - steal - interval.ours;
  // Idle, storage wait and steal are each cut to whole ticks.
  double foreign = rest - 3 * interval.tick;
  if (interval.others) {
    // User and system time are cut to whole ticks. A process that ends while /proc is read can be
    // counted twice, in itself and in its parent, so nobody is charged with more than was used.
    foreign = std::min(*interval.others - 2 * interval.tick, rest);
  }
  use.foreign_cores = std::max(0.0, foreign / interval.seconds);
  use.steal_share = std::clamp((steal - interval.tick) / capacity, 0.0, 1.0);
  return use;
}

}  // namespace plimsoll::load
