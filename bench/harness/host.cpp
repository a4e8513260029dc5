#include "bench/harness/host.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace plimsoll::bench {
namespace {

constexpr double kForeignLimit = 0.05;  // Of one core.
constexpr double kStolenLimit = 0.02;   // Of all CPU time.
constexpr std::chrono::milliseconds kJudged{1500};

double ticks_per_second() {
  static const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return ticks;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double own_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    sum += seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
  return sum;
}

/// The fields of /proc/<pid>/stat after the command's name, which may itself hold spaces and
/// brackets.
std::vector<std::string> stat_fields(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string line;
  std::getline(file, line);
  const auto close = line.rfind(')');
  std::vector<std::string> fields;
  if (close == std::string::npos) return fields;
  std::istringstream rest(line.substr(close + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

/// A process, its living children and all that it has waited for: a Postgres' backends end within a
/// run.
double server_seconds(int pid) {
  constexpr std::size_t kParent = 1;
  constexpr std::size_t kFirstTime = 11;  // utime, stime, cutime, cstime.
  double ticks = 0;
  const std::string wanted = std::to_string(pid);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto fields = stat_fields(entry.path());
    if (fields.size() < kFirstTime + 4) continue;  // It has just ended.
    if (name != wanted && fields[kParent] != wanted) continue;
    const std::size_t times = name == wanted ? 4 : 2;
    for (std::size_t i = 0; i < times; ++i)
      ticks += std::strtod(fields[kFirstTime + i].c_str(), nullptr);
  }
  return ticks / ticks_per_second();
}

std::optional<double> some_avg10(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const auto at = line.find("avg10=");
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(line.c_str() + at + 6, nullptr);
}

}  // namespace

HostCpu read_host_cpu(const std::vector<int>& server_pids) {
  HostCpu now;
  now.own = own_seconds();
  for (const int pid : server_pids) now.own += server_seconds(pid);
  std::ifstream file("/proc/stat");
  std::string cpu;
  // user, nice, system, idle, iowait, irq, softirq, steal. Guest time is inside user already.
  std::array<double, 8> fields{};
  file >> cpu;
  for (double& field : fields) {
    file >> field;
    field /= ticks_per_second();
  }
  now.at = Clock::now();
  // Interrupts are left out: nobody can say whose they are, and a busy loopback makes many.
  now.busy = fields[0] + fields[1] + fields[2];
  now.stolen = fields[7];
  return now;
}

double stolen_share(const HostCpu& begin, const HostCpu& end, long cores) {
  // The monotonic clock begins at boot, as the counts do.
  const double elapsed = std::chrono::duration<double>(end.at - begin.at).count();
  if (elapsed <= 0 || cores <= 0) return 0;
  return std::max(0.0, end.stolen - begin.stolen) / (elapsed * static_cast<double>(cores));
}

Contention contention_between(const HostCpu& begin, const HostCpu& end, long cores) {
  const double elapsed = std::chrono::duration<double>(end.at - begin.at).count();
  if (elapsed <= 0) return {};
  // Each of the three busy fields is cut to whole ticks at either end, and a core's running tick is
  // not yet in it.
  const double grain = (3.0 + static_cast<double>(cores)) / ticks_per_second();
  const double foreign = (end.busy - begin.busy) - (end.own - begin.own) - grain;
  const double stolen =
      (end.stolen - begin.stolen) - static_cast<double>(cores) / ticks_per_second();
  return {std::max(0.0, foreign / elapsed),
          std::max(0.0, stolen / (elapsed * static_cast<double>(std::max(1L, cores))))};
}

std::optional<std::string> contention_reason(const Contention& contention) {
  if (contention.stolen_share > kStolenLimit) {
    return fmt::format("the hypervisor took at least {:.1f} % of the CPU time (limit {:.0f} %)",
                       contention.stolen_share * 100, kStolenLimit * 100);
  }
  if (contention.foreign_cores > kForeignLimit) {
    return fmt::format("other processes used at least {:.0f} % of one core (limit {:.0f} %)",
                       contention.foreign_cores * 100, kForeignLimit * 100);
  }
  return std::nullopt;
}

void HostWatch::add_server(int pid) {
  if (std::find(server_pids_.begin(), server_pids_.end(), pid) != server_pids_.end()) return;
  server_pids_.push_back(pid);
  // Its past is no part of this session: figures from before cannot be compared with those to come.
  recent_.clear();
  first_.reset();
}

std::optional<std::string> HostWatch::sample() {
  const HostCpu now = read_host_cpu(server_pids_);
  if (!first_) first_ = now;
  // Keep the youngest sample that is old enough, and everything after it.
  while (recent_.size() > 1 && now.at - recent_[1].at >= kJudged) recent_.pop_front();
  recent_.push_back(now);
  return contention_reason(contention_between(recent_.front(), now, sysconf(_SC_NPROCESSORS_ONLN)));
}

Contention HostWatch::overall() const {
  if (!first_ || recent_.empty()) return {};
  return contention_between(*first_, recent_.back(), sysconf(_SC_NPROCESSORS_ONLN));
}

HostWatch& host_watch() {
  static HostWatch watch;
  return watch;
}

Pressure read_pressure() {
  Pressure pressure;
  pressure.cpu_some_avg10 = some_avg10("/proc/pressure/cpu");
  pressure.io_some_avg10 = some_avg10("/proc/pressure/io");
  double load = 0;
  if (getloadavg(&load, 1) == 1) pressure.load1 = load;
  return pressure;
}

}  // namespace plimsoll::bench
