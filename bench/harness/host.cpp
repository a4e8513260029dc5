#include "bench/harness/host.hpp"

#include <unistd.h>

#include <algorithm>

#include "lib/core/canary.hpp"
#include "lib/load/proc_file.hpp"
#include "lib/load/process_tree.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::chrono::milliseconds kJudged{1500};
constexpr std::chrono::milliseconds kBetweenLooks{100};

}  // namespace

std::optional<HostMoment> read_host(const std::vector<int>& server_pids) {
  std::vector<int> roots = server_pids;
  roots.push_back(::getpid());
  HostMoment now;
  now.ours = load::trees_cpu(roots) + load::kernel_threads_cpu();
  const auto machine = load::read_cpu_times();
  if (!machine) return std::nullopt;
  now.machine = *machine;
  now.at = Clock::now();
  return now;
}

load::HostUse use_between(const HostMoment& begin, const HostMoment& end) {
  load::HostInterval interval;
  interval.before = begin.machine;
  interval.after = end.machine;
  interval.seconds = std::chrono::duration<double>(end.at - begin.at).count();
  interval.cores = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  interval.ours = end.ours - begin.ours;
  interval.tick = 1.0 / load::ticks_per_second();
  return load::host_use(interval);
}

void HostWatch::add_server(int pid) {
  if (std::find(server_pids_.begin(), server_pids_.end(), pid) != server_pids_.end()) return;
  server_pids_.push_back(pid);
  // Figures without its past cannot be compared with those that will hold it.
  recent_.clear();
  first_.reset();
}

load::Validity HostWatch::sample() {
  if (!recent_.empty() && Clock::now() - recent_.back().at < kBetweenLooks) return last_;
  const auto now = read_host(server_pids_);
  if (!now) return {};
  if (!first_) first_ = now;
  while (recent_.size() > 1 && now->at - recent_[1].at >= kJudged) recent_.pop_front();
  recent_.push_back(*now);
  const load::HostUse use = use_between(recent_.front(), *now);
  load::Facts facts;
  facts.foreign_cores = use.foreign_cores;
  facts.steal_share = use.steal_share;
  last_ = load::judge(facts);
  return last_;
}

load::HostUse HostWatch::overall() const {
  if (!first_ || recent_.empty()) return {};
  return use_between(*first_, recent_.back());
}

HostWatch& host_watch() {
  static HostWatch watch;
  return watch;
}

std::chrono::nanoseconds recent_canary() {
  static std::optional<TimePoint> at;
  static std::chrono::nanoseconds reading;
  if (!at || Clock::now() - *at > kBetweenLooks) {
    reading = read_canary();
    at = Clock::now();
  }
  return reading;
}

}  // namespace plimsoll::bench
