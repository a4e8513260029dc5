#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::bench {

enum class Better { kLower, kHigher, kExact };

/// What a number may be used for.
enum class MetricClass {
  kInvariant,  ///< Must be as expected, always.
  kWork,       ///< Does not depend on the machine's mood; compared within `tolerance`.
  kTime,       ///< Noisy; makes a suspect from `min_effect` on.
  kInfo,       ///< Printed, never judged.
};

/// One line of the metrics table: what a counter of this name means, wherever it appears.
struct Metric {
  std::string name;
  std::string unit;
  Better better = Better::kLower;
  MetricClass kind = MetricClass::kInfo;
  double min_effect = 0;  ///< Relative; a smaller change is never reported.
  double tolerance = 0;   ///< Relative; kWork only, 0 means equal.

  bool operator==(const Metric&) const = default;
};

/// Every counter that a row may carry. Nothing guesses a direction from a name, so what is not here
/// is refused.
///
/// Thread safety: none; declared before the first case runs, only read after.
class MetricsTable {
 public:
  /// With the metrics common to all groups.
  MetricsTable();

  /// Errors: kConflict when the name stands for something else already; kInvalidArgument for an
  /// empty name or unit, a negative figure, or one of the row's own keys.
  [[nodiscard]] Result<void> declare(Metric metric);

  /// nullptr when nobody declared it.
  [[nodiscard]] const Metric* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;

 private:
  std::vector<Metric> metrics_;  // In the order of declaration, which is the order of the file.
};

/// The table of this process.
[[nodiscard]] MetricsTable& metrics();

/// Adds a metric of a group, in `register_cases`. A conflict ends the binary with exit 1 and the
/// reason, before anything runs.
void declare_metric(Metric metric);

}  // namespace plimsoll::bench
