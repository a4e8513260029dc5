#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "lib/load/runner.hpp"

namespace plimsoll::load {
namespace {

double per_second(std::uint64_t count, Nanoseconds window) {
  const double seconds = std::chrono::duration<double>(window).count();
  return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
}

void keep_higher(Series& series, const Series& other) {
  if (other.max > series.max) series = other;
}

void merge_resources(Resources& used, const Resources& other) {
  used.cpu_seconds += other.cpu_seconds;
  used.voluntary_switches += other.voluntary_switches;
  used.involuntary_switches += other.involuntary_switches;
  used.read_bytes += other.read_bytes;
  used.written_bytes += other.written_bytes;
  used.processes_max += other.processes_max;
  keep_higher(used.rss, other.rss);
  keep_higher(used.pss, other.pss);
  keep_higher(used.fds, other.fds);
  keep_higher(used.threads, other.threads);
}

}  // namespace

double Report::operations_per_second() const { return per_second(completed, window); }

double Report::items_per_second() const { return per_second(items, window); }

Result<Report> merge(const Report& a, const Report& b) {
  if (a.mode != b.mode) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a report of mode {} and one of mode {} cannot be merged", name(a.mode),
                            name(b.mode)));
  }
  Report sum = a;
  const auto ours = static_cast<double>(a.ledger.started);
  const auto theirs = static_cast<double>(b.ledger.started);
  if (ours + theirs > 0) {
    const double cost = (static_cast<double>(a.null_service.count()) * ours +
                         static_cast<double>(b.null_service.count()) * theirs) /
                        (ours + theirs);
    sum.null_service = Nanoseconds(static_cast<std::int64_t>(cost));
  }
  sum.ledger.merge(b.ledger);
  sum.warmup.merge(b.warmup);
  sum.service.merge(b.service);
  sum.response.merge(b.response);
  sum.lag.merge(b.lag);
  sum.window = std::max(a.window, b.window);
  sum.completed += b.completed;
  sum.items += b.items;
  sum.mean_in_flight += b.mean_in_flight;
  sum.harness_share = std::max(a.harness_share, b.harness_share);
  sum.pacer_lag_p99 = std::max(a.pacer_lag_p99, b.pacer_lag_p99);
  sum.cap_hits += b.cap_hits;
  sum.steady = a.steady && b.steady;
  merge_resources(sum.own, b.own);
  sum.servers.insert(sum.servers.end(), b.servers.begin(), b.servers.end());
  if (b.host.foreign_cores > a.host.foreign_cores) sum.host = b.host;
  sum.validity.merge(b.validity);
  return sum;
}

}  // namespace plimsoll::load
