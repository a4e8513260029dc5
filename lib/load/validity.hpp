#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/clock.hpp"

namespace plimsoll::load {

/// Whether a run may be believed, in ascending order of gravity: a run has the gravest that
/// applies.
enum class Verdict {
  kValid,
  kNotSteady,         ///< Measured before the throughput had settled.
  kHostContended,     ///< Somebody else used the machine.
  kGeneratorLimited,  ///< What was measured is (also) the generator.
  kUnbalanced,        ///< The books do not balance: some figure is wrong, unknown which.
  kServerCrashed,
};

/// As in the result file, e.g. "GENERATOR_LIMITED".
[[nodiscard]] std::string_view name(Verdict verdict) noexcept;

/// The verdict and everything that spoke against the run, not only what decided.
struct Validity {
  Verdict verdict = Verdict::kValid;
  std::vector<std::string> reasons{};  ///< For people, one line each.
  std::vector<Verdict> found{};        ///< What each reason speaks for, in the same order.

  [[nodiscard]] bool valid() const noexcept { return verdict == Verdict::kValid; }
  [[nodiscard]] bool has(Verdict what) const noexcept;
  void add(Verdict what, std::string reason);
  void merge(const Validity& other);
};

/// The server's own count of the run's operations against ours. What ended without an answer may
/// have been done or not, so the count must lie between `least` and `most`; with every operation
/// acknowledged the two are equal.
struct ServerCount {
  std::uint64_t counted = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// What is known about a run. Every field's default speaks for the run.
struct Facts {
  std::vector<std::string> server_gone{};  ///< One line for each server that did not survive.
  std::optional<std::string> imbalance{};  ///< Ledger::imbalance().
  std::uint64_t finished = 1;              ///< By the ledger.
  std::uint64_t recorded = 1;              ///< By the service histogram; must be the same.
  std::uint64_t unfinished = 0;            ///< In flight at the end: missing from the histograms.
  double mean_in_flight = 0;               ///< Time-weighted.
  double little_in_flight = 0;             ///< Throughput times mean service; must be the same.
  std::optional<ServerCount> server_count{};
  std::optional<std::string> server_count_error{};
  double harness_share = 0;      ///< Of the CPU used, 0 to 1.
  Nanoseconds pacer_lag_p99{0};  ///< Planned to issued, where a slot was free.
  std::uint64_t planned = 1;     ///< Arrivals of the window.
  std::uint64_t cap_hits = 0;    ///< Of these, how many had to wait for a slot.
  double foreign_cores = 0;      ///< CPU used by others, in cores.
  double steal_share = 0;        ///< Of all cores' time, 0 to 1.
  bool steady = true;            ///< Or no warm-up was asked for.
  std::string steady_detail{};   ///< What the steady-state test last saw.
};

/// From where on a fact speaks against a run.
struct Limits {
  double harness_share = 0.10;
  Nanoseconds pacer_lag_p99 = std::chrono::milliseconds(5);
  double cap_share = 0.01;  ///< Of the planned.
  double foreign_cores = 0.05;
  double steal_share = 0.02;
  double little_tolerance = 0.02;  ///< Relative.
};

/// Pure: no clock, no files.
[[nodiscard]] Validity judge(const Facts& facts, const Limits& limits = {});

}  // namespace plimsoll::load
