#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/model.hpp"
#include "compare/read/result_handler.hpp"

namespace plimsoll::compare {

/// What a row is, whatever the version that wrote it.
enum class RowKind {
  kMeasured,   ///< One repetition.
  kFailed,     ///< SkipWithError: its times mean nothing.
  kSkipped,    ///< SkipWithMessage, 1.8 and later.
  kAggregate,  ///< Mean, median and the like.
  kFit,        ///< Big-O or RMS: about a family, not about a benchmark.
};

/// One row, reduced to what is judged.
struct Row {
  RowKind kind = RowKind::kMeasured;
  std::string name;     ///< Of the benchmark, without an aggregate's suffix.
  std::string session;  ///< In merged files; else empty.
  std::string message;  ///< Of a failed or skipped row.
  /// family_index and per_family_instance_index; absent before 1.5.3.
  std::optional<std::pair<std::int64_t, std::int64_t>> family;
  std::optional<std::int64_t> repetition;
  std::map<std::string, double, std::less<>> values;  ///< Both clocks in ns, and the counters.
  std::vector<std::string> issues;

  // What our own rows add.
  std::optional<Resource> resource;
  std::optional<bool> gate;
  Validity validity = Validity::kValid;
  std::vector<std::string> validity_reasons;
  std::map<std::string, Invariant, std::less<>> invariants;
};

/// Reads one row. Never fails: what is odd becomes an issue or a NaN. `number` counts from 1 and
/// names a row that has no name.
[[nodiscard]] Row read_row(const RawRow& raw, std::size_t number);

}  // namespace plimsoll::compare
