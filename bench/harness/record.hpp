#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"

namespace plimsoll::bench {

using Json = nlohmann::ordered_json;

/// What one execution of a body adds to its row.
struct Record {
  bool is_load = false;
  Resource resource = Resource::kCpu;
  bool gate = true;
  bool interrupted = false;  ///< Never ran: a signal came first. The row is left out of the file.
  std::string verdict = "VALID";
  std::vector<std::string> reasons{};
  Json invariants = Json::object();
  Json ledger{};  // These three stay null where the case is no load case.
  Json histograms{};
  Json resources{};
  std::vector<std::string> issues{};
  std::optional<std::int64_t>
      operations{};  ///< Load: how many the window held; the row's `iterations`.
  std::optional<double> cpu_ns_per_op{};  ///< Load: CPU of our whole process; the row's `cpu_time`.
  bool reported = false;
};

/// The row's `plimsoll` object (docs/json.md).
[[nodiscard]] Json to_json(const Record& record);

}  // namespace plimsoll::bench
