#include "bench/harness/load_json.hpp"

#include <chrono>
#include <cmath>

namespace plimsoll::bench {
namespace {

using Json = nlohmann::ordered_json;

Json series_json(const load::Series& series) {
  Json json{{"unit", series.unit},
            {"samples", series.samples},
            {"first", series.first},
            {"last", series.last},
            {"max", series.max}};
  // Per second. Without a bound on either side the slope says nothing, and JSON has no infinity.
  const auto& slope = series.slope;
  if (slope && std::isfinite(slope->value) && std::isfinite(slope->low) &&
      std::isfinite(slope->high)) {
    json["slope"] = slope->value;
    json["slope_low"] = slope->low;
    json["slope_high"] = slope->high;
  }
  return json;
}

}  // namespace

Json to_json(const load::Ledger& ledger) {
  Json failed_by = Json::object();
  for (const auto& [kind, count] : ledger.failed_by) failed_by[kind] = count;
  return {{"planned", ledger.planned},
          {"started", ledger.started},
          {"ok", ledger.ok},
          {"busy", ledger.busy},
          {"failed", ledger.failed},
          {"timeout", ledger.timeout},
          {"skipped", ledger.skipped},
          {"late", ledger.late},
          {"in_flight", ledger.in_flight},
          {"indeterminate", ledger.indeterminate},
          {"failed_by", failed_by}};
}

Json to_json(const load::Histogram& histogram) {
  const auto parts = histogram.parts();
  Json buckets = Json::array();
  for (const auto& bucket : parts.buckets)
    buckets.push_back(Json::array({bucket.index, bucket.count}));
  return {{"bits", parts.bits},           {"count", parts.count},
          {"min", parts.min.count()},     {"max", parts.max.count()},
          {"sum", parts.sum.count()},     {"saturated", parts.saturated},
          {"buckets", std::move(buckets)}};
}

Json to_json(const load::Resources& resources) {
  Json json{{"cpu_seconds", resources.cpu_seconds},
            {"voluntary_switches", resources.voluntary_switches},
            {"involuntary_switches", resources.involuntary_switches},
            {"read_bytes", resources.read_bytes},
            {"written_bytes", resources.written_bytes},
            {"processes_max", resources.processes_max}};
  for (const auto& [name, series] : resources.series()) {
    if (series->samples > 0) json[std::string(name)] = series_json(*series);
  }
  return json;
}

Json run_json(const load::Report& report) {
  return {{"mode", load::name(report.mode)},
          {"window_seconds", std::chrono::duration<double>(report.window).count()},
          {"completed", report.completed},
          {"items", report.items},
          {"steady", report.steady},
          {"warmup_operations", report.warmup.finished()},
          {"mean_in_flight", report.mean_in_flight},
          {"null_service_ns", report.null_service.count()},
          {"harness_share", report.harness_share},
          {"pacer_lag_ns_p99", report.pacer_lag_p99.count()},
          {"cap_hits", report.cap_hits},
          {"host",
           {{"seconds", report.host.seconds},
            {"foreign_cores", report.host.foreign_cores},
            {"steal_share", report.host.steal_share}}}};
}

}  // namespace plimsoll::bench
