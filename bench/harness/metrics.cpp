#include "bench/harness/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bench/harness/registry.hpp"
#include "lib/core/canary.hpp"

namespace plimsoll::bench {
namespace {

// Keys that Google Benchmark's schema or ours gives to a row itself.
constexpr std::array kRowKeys{"name",          "family_index",     "per_family_instance_index",
                              "run_name",      "run_type",         "repetitions",
                              "threads",       "repetition_index", "aggregate_name",
                              "iterations",    "aggregate_unit",   "error_occurred",
                              "error_message", "time_unit",        "label",
                              "plimsoll"};

std::string_view name(Better better) {
  constexpr std::array<std::string_view, 3> kNames{"lower", "higher", "exact"};
  return kNames[static_cast<std::size_t>(better)];
}

std::string_view name(MetricClass kind) {
  constexpr std::array<std::string_view, 4> kNames{"invariant", "work", "time", "info"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Metric> common_metrics() {
  using enum Better;
  using enum MetricClass;
  std::vector<Metric> table{
      {"real_time", "ns", kLower, kTime, 0.05},
      {"cpu_time", "ns", kLower, kTime, 0.05},
      {"operations_per_second", "1/s", kHigher, kTime, 0.07},
      // Both are set by Google Benchmark's SetItemsProcessed and SetBytesProcessed: the case's time
      // said otherwise.
      {"items_per_second", "1/s", kHigher, kTime, 0.07},
      {"bytes_per_second", "B/s", kHigher, kTime, 0.07},
      {"allocations_per_op", "1/op", kExact, kWork},
      {"allocated_bytes_per_op", "B/op", kLower, kWork, 0, 0.001},
      {"statements_per_op", "1/op", kExact, kWork},
      {"prepares_per_op", "1/op", kExact, kWork},
      {"round_trips_per_op", "1/op", kExact, kWork},
      {"rows_per_op", "1/op", kExact, kWork},
      {"bytes_sent_per_op", "B/op", kExact, kWork},
      {"bytes_received_per_op", "B/op", kExact, kWork},
      {"sends_per_op", "1/op", kExact, kWork},
      {"receives_per_op", "1/op", kLower, kWork, 0, 0.01},
      {"writes_per_op", "1/op", kExact, kWork},
      {"commits_per_op", "1/op", kLower, kWork, 0, 0.001},
      {"fsyncs_per_op", "1/op", kLower, kWork, 0, 0.02},
      {"wal_bytes_per_op", "B/op", kLower, kWork, 0, 0.001},
      {"wal_prune_bytes_per_op", "B/op", kLower, kInfo},
      {"cpu_us_per_op", "us/op", kLower, kInfo},
      {"harness_ns_per_op", "ns/op", kLower, kInfo},
      {"harness_share", "1", kLower, kInfo},
      {"in_flight_mean", "1", kLower, kInfo},
      {"dead_tuples", "1", kLower, kInfo},
      {std::string(kCanaryMetric), "ns", kLower, kInfo},
      {"rss_bytes_max", "B", kLower, kInfo},
      {"rss_bytes_per_second", "B/s", kLower, kInfo},
      {"server_cpu_us_per_op", "us/op", kLower, kInfo},
      {"server_pss_bytes_max", "B", kLower, kInfo},
  };
  for (const char* clock : {"latency", "response", "lag"}) {
    // How late we were says something about the harness, not about the subject.
    const MetricClass kind = clock == std::string_view("lag") ? kInfo : kTime;
    table.push_back({fmt::format("{}_us_mean", clock), "us", kLower, kInfo});
    table.push_back({fmt::format("{}_us_p50", clock), "us", kLower, kind, 0.10});
    table.push_back({fmt::format("{}_us_p95", clock), "us", kLower, kind, 0.25});
    table.push_back({fmt::format("{}_us_p99", clock), "us", kLower, kind, 0.25});
    table.push_back({fmt::format("{}_us_p999", clock), "us", kLower, kInfo});
    table.push_back({fmt::format("{}_us_max", clock), "us", kLower, kInfo});
  }
  return table;
}

}  // namespace

MetricsTable::MetricsTable() : metrics_(common_metrics()) {}

Result<void> MetricsTable::declare(Metric metric) {
  if (metric.name.empty() || metric.unit.empty()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("metric '{}' needs a name and a unit", metric.name));
  }
  if (std::find(kRowKeys.begin(), kRowKeys.end(), metric.name) != kRowKeys.end()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("metric '{}' would hide a key of the row", metric.name));
  }
  // Written so that NaN is refused too.
  if (!(metric.min_effect >= 0) || !(metric.tolerance >= 0)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("metric '{}': min_effect and tolerance are not negative", metric.name));
  }
  const Metric* known = find(metric.name);
  if (known == nullptr) {
    metrics_.push_back(std::move(metric));
  } else if (!(*known == metric)) {
    return fail(Errc::kConflict,
                fmt::format("metric '{}' is declared twice with different meanings", metric.name));
  }
  return {};
}

const Metric* MetricsTable::find(std::string_view wanted) const {
  const auto found = std::find_if(metrics_.begin(), metrics_.end(),
                                  [&](const Metric& metric) { return metric.name == wanted; });
  return found == metrics_.end() ? nullptr : &*found;
}

std::vector<std::string> MetricsTable::names() const {
  std::vector<std::string> all;
  for (const Metric& metric : metrics_) all.push_back(metric.name);
  return all;
}

nlohmann::ordered_json MetricsTable::to_json() const {
  nlohmann::ordered_json table = nlohmann::ordered_json::object();
  for (const Metric& metric : metrics_) {
    table[metric.name] = {{"unit", metric.unit},
                          {"better", name(metric.better)},
                          {"class", name(metric.kind)},
                          {"min_effect", metric.min_effect},
                          {"tolerance", metric.tolerance}};
  }
  return table;
}

MetricsTable& metrics() {
  static MetricsTable table;
  return table;
}

void declare_metric(Metric metric) {
  if (const auto declared = metrics().declare(std::move(metric)); !declared) {
    Registry::instance().reject(declared.error().message);
  }
}

}  // namespace plimsoll::bench
