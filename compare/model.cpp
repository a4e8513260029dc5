#include "compare/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/core/canary.hpp"
#include "lib/core/statistics.hpp"

namespace plimsoll::compare {

std::string_view name(Better better) noexcept {
  switch (better) {
    case Better::kLower:
      return "lower";
    case Better::kHigher:
      return "higher";
    case Better::kExact:
      return "exact";
  }
  return "?";
}

std::string_view name(MetricClass klass) noexcept {
  switch (klass) {
    case MetricClass::kInvariant:
      return "invariant";
    case MetricClass::kWork:
      return "work";
    case MetricClass::kTime:
      return "time";
    case MetricClass::kInfo:
      return "info";
  }
  return "?";
}

std::string_view name(Resource resource) noexcept {
  switch (resource) {
    case Resource::kCpu:
      return "cpu";
    case Resource::kIo:
      return "io";
    case Resource::kDb:
      return "db";
    case Resource::kUnknown:
      return "unknown";
  }
  return "?";
}

std::string_view name(Validity validity) noexcept {
  switch (validity) {
    case Validity::kValid:
      return "VALID";
    case Validity::kGeneratorLimited:
      return "GENERATOR_LIMITED";
    case Validity::kHostContended:
      return "HOST_CONTENDED";
    case Validity::kNotSteady:
      return "NOT_STEADY";
    case Validity::kServerCrashed:
      return "SERVER_CRASHED";
    case Validity::kUnbalanced:
      return "UNBALANCED";
  }
  return "?";
}

bool is_clock(std::string_view metric) noexcept {
  return metric == "real_time" || metric == "cpu_time";
}

std::string_view gating_clock(Resource resource) noexcept {
  return resource == Resource::kIo || resource == Resource::kDb ? "real_time" : "cpu_time";
}

MetricSpec spec_of(const MetricsTable& table, std::string_view metric) {
  const auto found = table.find(metric);
  return found == table.end() ? MetricSpec{} : found->second;
}

const MetricsTable& default_metrics() {
  static const MetricsTable table = {
      {"real_time", {"ns", Better::kLower, MetricClass::kTime, 0.10, 0}},
      {"cpu_time", {"ns", Better::kLower, MetricClass::kTime, 0.05, 0}},
      {"items_per_second", {"1/s", Better::kHigher, MetricClass::kTime, 0.10, 0}},
      {"bytes_per_second", {"B/s", Better::kHigher, MetricClass::kTime, 0.10, 0}},
  };
  return table;
}

double canary_of(const Run& run) {
  double smallest = std::numeric_limits<double>::quiet_NaN();
  const auto found = run.samples.find(kCanaryMetric);
  if (found == run.samples.end()) return smallest;
  for (const double reading : found->second) {
    if (reading > 0 && !(smallest <= reading)) smallest = reading;
  }
  return smallest;
}

double session_statistic(const Run& run, std::string_view metric, const MetricSpec& spec) {
  const auto found = run.samples.find(metric);
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (found == run.samples.end() || found->second.empty()) return kNone;
  const std::vector<double>& values = found->second;
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
    return kNone;
  }
  const bool take_median = run.resource == Resource::kIo || spec.klass != MetricClass::kTime;
  if (take_median) return median(values);
  return spec.better == Better::kHigher ? *std::max_element(values.begin(), values.end())
                                        : *std::min_element(values.begin(), values.end());
}

}  // namespace plimsoll::compare
