#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "lib/core/result.hpp"
#include "lib/load/runner.hpp"

namespace plimsoll::bench {

/// How much is measured. PLIMSOLL_SIZE or --plimsoll_size; `short` unless told.
enum class Size { kSmoke, kShort, kFull };
[[nodiscard]] Size size();

/// Picks by size. `scaled(10, 1000, 100000)`
template <class T>
[[nodiscard]] T scaled(T smoke, T short_, T full) {
  return size() == Size::kSmoke ? smoke : size() == Size::kShort ? short_ : full;
}

/// What a case's time depends on: decides which clock gates it and how many pairs an A/B takes.
enum class Resource {
  kCpu,  ///< cpu_time, minimum of repetitions, 12 pairs.
  kIo,   ///< real_time, median of repetitions, 24 pairs.
  kDb,   ///< real_time, minimum of repetitions, 24 pairs.
};

/// How a case is registered. `gate` false: measured and printed, never judged on time.
struct CaseOptions {
  Resource resource = Resource::kCpu;
  bool gate = true;
};

/// One run of one case: Google Benchmark's state and what the harness adds to its row.
class Case {
 public:
  [[nodiscard]] benchmark::State& state();
  [[nodiscard]] const std::string& name() const;

  /// A counter of the metrics table (metrics.hpp). A name that is not in the table, or a value that is not finite,
  /// fails the case.
  void counter(std::string_view metric, double value);

  /// An exact count that must be `expected`; anything else fails the case and makes the binary exit non-zero.
  /// It stays in the row as `plimsoll.invariants.<name>` = {value, expected}.
  void invariant(std::string_view name, std::int64_t value, std::int64_t expected = 0);

  /// Takes over a load run: manual time = window / operations, percentiles (each only with enough samples), ledger,
  /// histograms, resources, validity, throughput. Call once, in a load case.
  void report(const load::Report& report);

  /// The case failed: the row is an error with this reason, never a number.
  void fail(std::string_view reason);
  void fail(const Error& error);

  /// Operations that a load case should do: 0 means "for the window of the size", else exactly so many
  /// (--plimsoll_ops, an A/B sample).
  [[nodiscard]] std::uint64_t fixed_operations() const;
};

using Body = std::function<void(Case&)>;

/// Registers a case whose body runs Google Benchmark's loop (`for (auto _ : c.state())`). `name` is
/// group/subject/case/param:value.
void cpu_case(std::string name, Body body, CaseOptions options = {});

/// Registers a case whose body runs the load runner once and calls `report`.
void load_case(std::string name, Body body, CaseOptions options = {Resource::kDb, true});

/// Each bench binary defines this once: it registers every case of the group. Called after flags are read, so that
/// `scaled` works.
void register_cases();

/// The group's name, e.g. "vault_crypto"; each bench binary defines it.
extern const std::string_view kGroup;

}  // namespace plimsoll::bench
