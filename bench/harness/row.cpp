#include "bench/harness/row.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <set>

#include "bench/harness/benchmark_compat.hpp"
#include "bench/harness/metrics.hpp"
#include "lib/core/statistics.hpp"

namespace plimsoll::bench {
namespace {

/// What is wrong with the row's numbers, if anything is. Bodies may also set counters past
/// Case::counter, as SetItemsProcessed does.
std::optional<std::string> counter_mistake(const Row& row) {
  for (const auto& [key, value] : row.counters) {
    if (metrics().find(key) == nullptr) {
      return fmt::format("counter '{}' is not in the metrics table", key);
    }
    if (!std::isfinite(value))
      return fmt::format("counter '{}' is {}, which is no number", key, value);
  }
  if (!std::isfinite(row.real_ns) || !std::isfinite(row.cpu_ns)) return "its time is no number";
  return std::nullopt;
}

/// What failed is not valid, whatever the host and the load runner saw.
void deny_validity(Row& row) {
  if (row.record.verdict == "VALID") row.record.verdict = "FAILED";
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(std::span<const double> values) {
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<double> aggregate(const std::string& kind, std::span<const double> values) {
  if (kind == "mean") return mean(values);
  if (kind == "median") return median(values);
  if (kind == "stddev") return deviation(values);
  // The relative spread about zero does not exist.
  if (mean(values) == 0) return std::nullopt;
  return deviation(values) / mean(values);
}

Row aggregate_row(const std::string& kind, std::span<const Row> rows) {
  Row made;
  const Row& first = rows.front();
  made.name = first.name;
  made.aggregate = kind;
  made.family_index = first.family_index;
  made.instance_index = first.instance_index;
  made.repetitions = first.repetitions;
  made.iterations = static_cast<std::int64_t>(rows.size());
  made.record.resource = first.record.resource;
  made.record.gate = first.record.gate;
  const auto over = [&](auto&& value_of) {
    std::vector<double> values;
    for (const Row& row : rows) values.push_back(value_of(row));
    return aggregate(kind, values);
  };
  made.real_ns = over([](const Row& row) { return row.real_ns; }).value_or(0);
  made.cpu_ns = over([](const Row& row) { return row.cpu_ns; }).value_or(0);
  std::set<std::string> keys;
  for (const Row& row : rows) {
    for (const auto& [key, value] : row.counters) keys.insert(key);
  }
  for (const std::string& key : keys) {
    std::vector<double> values;
    for (const Row& row : rows) {
      if (const auto found = row.counters.find(key); found != row.counters.end())
        values.push_back(found->second);
    }
    // A percentile may miss from a repetition with too few samples; its aggregate would be of other
    // runs.
    if (values.size() != rows.size()) continue;
    if (const auto value = aggregate(kind, values)) made.counters[key] = *value;
  }
  return made;
}

}  // namespace

Row row_of(const benchmark::BenchmarkReporter::Run& run, const Record* record) {
  Row row;
  row.name = run.run_name.function_name;
  row.family_index = run.family_index;
  row.instance_index = run.per_family_instance_index;
  row.repetitions = run.repetitions;
  row.repetition = run.repetition_index;
  row.iterations = run.iterations;
  row.label = run.report_label;
  if (record != nullptr) row.record = *record;
  if (compat::is_errored(run)) {
    row.error = compat::error_message(run);
    deny_validity(row);
    return row;
  }
  const double to_ns = 1e9 / benchmark::GetTimeUnitMultiplier(run.time_unit);
  row.real_ns = run.GetAdjustedRealTime() * to_ns;
  row.cpu_ns = row.record.cpu_ns_per_op.value_or(run.GetAdjustedCPUTime() * to_ns);
  row.iterations = row.record.operations.value_or(row.iterations);
  for (const auto& [key, counter] : run.counters) row.counters[key] = counter.value;
  row.error = counter_mistake(row);
  if (row.error) deny_validity(row);
  return row;
}

std::vector<Row> aggregates_of(std::span<const Row> repetitions) {
  std::vector<Row> good;
  for (const Row& row : repetitions) {
    if (!row.error) good.push_back(row);
  }
  std::vector<Row> made;
  if (good.size() < 2) return made;
  for (const char* kind : {"mean", "median", "stddev", "cv"})
    made.push_back(aggregate_row(kind, good));
  return made;
}

double gating_ns(const Row& row) noexcept {
  return row.record.resource == Resource::kCpu ? row.cpu_ns : row.real_ns;
}

Json to_json(const Row& row) {
  const bool is_aggregate = !row.aggregate.empty();
  Json json{{"name", is_aggregate ? row.name + "_" + row.aggregate : row.name},
            {"family_index", row.family_index},
            {"per_family_instance_index", row.instance_index},
            {"run_name", row.name},
            {"run_type", is_aggregate ? "aggregate" : "iteration"},
            {"repetitions", row.repetitions}};
  if (!is_aggregate) json["repetition_index"] = row.repetition;
  json["threads"] = 1;
  if (is_aggregate) {
    json["aggregate_name"] = row.aggregate;
    json["aggregate_unit"] = row.aggregate == "cv" ? "percentage" : "time";
  }
  if (row.error) {
    json["error_occurred"] = true;
    json["error_message"] = *row.error;
  }
  json["iterations"] = row.iterations;
  json["real_time"] = row.error ? 0.0 : row.real_ns;
  json["cpu_time"] = row.error ? 0.0 : row.cpu_ns;
  json["time_unit"] = "ns";
  if (!row.error) {
    for (const auto& [key, value] : row.counters) json[key] = value;
  }
  if (!row.label.empty()) json["label"] = row.label;
  if (is_aggregate) {
    json["plimsoll"] = {{"resource", name(row.record.resource)}, {"gate", row.record.gate}};
  } else {
    json["plimsoll"] = to_json(row.record);
  }
  return json;
}

}  // namespace plimsoll::bench
