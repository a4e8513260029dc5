#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/record.hpp"

namespace plimsoll::bench {

/// One line of `benchmarks`: a repetition of a case, or an aggregate over them.
struct Row {
  std::string name;       ///< The case's, without what Google Benchmark or an aggregate adds to it.
  std::string aggregate;  ///< "mean", "median", "stddev" or "cv"; empty for a repetition.
  std::int64_t family_index = 0;
  std::int64_t instance_index = 0;
  std::int64_t repetitions = 1;
  std::int64_t repetition = 0;
  std::int64_t iterations = 0;
  double real_ns = 0;  ///< Of one operation; for the aggregate "cv" a fraction.
  double cpu_ns = 0;
  std::map<std::string, double> counters{};
  std::string label{};
  std::optional<std::string> error{};
  Record record{};
};

/// A repetition as Google Benchmark reports it, joined with what the harness recorded. `record` may
/// be null: the body never ran.
///
/// A counter that is not finite or not in the metrics table turns the row into an error.
[[nodiscard]] Row row_of(const benchmark::BenchmarkReporter::Run& run, const Record* record);

/// Mean, median, standard deviation and coefficient of variation of the repetitions that succeeded;
/// none for fewer than two. Two-pass: Google Benchmark's own formula loses a small deviation of
/// large values.
[[nodiscard]] std::vector<Row> aggregates_of(std::span<const Row> repetitions);

/// The time that gates the case: cpu_time for kCpu, real_time else.
[[nodiscard]] double gating_ns(const Row& row) noexcept;

/// In the order of Google Benchmark's keys, then `plimsoll`.
[[nodiscard]] Json to_json(const Row& row);

}  // namespace plimsoll::bench
