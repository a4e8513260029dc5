#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"
#include "lib/load/validity.hpp"

namespace plimsoll::bench {

using Json = nlohmann::ordered_json;

/// Who runs the loop, and what the body owes.
enum class Kind {
  kLoop,  ///< The body runs Google Benchmark's loop.
  kLoad,  ///< The harness does, once; the body calls report().
  kWork,  ///< The harness does, once; the body sets a counter or an invariant.
};

/// What one execution of a body adds to its row.
struct Record {
  Kind kind = Kind::kLoop;
  Resource resource = Resource::kCpu;
  bool gate = true;
  bool interrupted = false;  ///< Never ran: a signal came first. The row is left out of the file.
  std::string verdict = "VALID";
  std::vector<std::string> reasons{};
  Json invariants = Json::object();
  Json ledger{};  // These four stay null where the case is no load case.
  Json histograms{};
  Json resources{};
  Json run{};
  std::vector<std::string> issues{};
  std::optional<std::int64_t>
      operations{};  ///< Load: how many the window held; the row's `iterations`.
  std::optional<double> cpu_ns_per_op{};  ///< Load: CPU of our whole process; the row's `cpu_time`.
  bool reported = false;                  ///< The body gave what its kind owes.
};

/// The verdict of the load runner, or of the host watch where there is none.
void take_validity(const load::Validity& validity, Record& record);

/// A case that failed while the server is dead: SERVER_CRASHED, whatever spoke against it before.
void add_crash(std::string reason, Record& record);

/// The row's `plimsoll` object (docs/json.md).
[[nodiscard]] Json to_json(const Record& record);

}  // namespace plimsoll::bench
