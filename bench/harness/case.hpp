#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "bench/harness/alloc_counter.hpp"
#include "bench/harness/settings.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::load {
class Histogram;
struct Report;
}  // namespace plimsoll::load

namespace plimsoll::bench {

struct Record;

/// How much this run measures.
[[nodiscard]] Size size();

/// The seed of this run (--plimsoll_seed); every random input comes from it.
[[nodiscard]] std::uint64_t seed();

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

/// "cpu", "io" or "db".
[[nodiscard]] std::string_view name(Resource resource) noexcept;

/// How a case is registered. `gate` false: measured and printed, never judged on time.
struct CaseOptions {
  Resource resource = Resource::kCpu;
  bool gate = true;
};

/// One run of one case: Google Benchmark's state and what the harness adds to its row.
///
/// Thread safety: none; use it on the thread that runs the body.
class Case {
 public:
  Case(const std::string& name, benchmark::State& state, Record& record);
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  [[nodiscard]] benchmark::State& state() { return state_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// A counter of the metrics table (metrics.hpp). A name that is not in the table, or a value that
  /// is not finite, fails the case.
  void counter(std::string_view metric, double value);

  /// `allocations_per_op`: what the calling thread allocated since `scope` began, over
  /// `operations`. In a build that does not count allocations (sanitizers) it is an issue instead
  /// of a counter.
  void allocations(const AllocationScope& scope, std::uint64_t operations);

  /// An exact count that must be `expected`; anything else fails the case and makes the binary exit
  /// non-zero. It stays in the row as `plimsoll.invariants.<name>` = {value, expected}.
  void invariant(std::string_view name, std::int64_t value, std::int64_t expected = 0);

  /// Takes over a load run: manual time = window / operations, percentiles (each only with enough
  /// samples), ledger, histograms, resources, validity, throughput. Call once, in a load case. A
  /// server that crashed or a ledger that does not balance fails the case.
  void report(const load::Report& report);

  /// Percentiles, mean and maximum as `<clock>_us_p50` and so on; `clock` is latency, response or
  /// lag. A percentile with fewer than 20/(1-q) samples is left out, and an issue says so. `report`
  /// does it for a load run; a case with Google Benchmark's loop may do it for a histogram of its
  /// own.
  void latencies(std::string_view clock, const load::Histogram& histogram);

  /// A work case has nothing to count here, e.g. on a server that is not ours; the reason becomes
  /// an issue and the case is not failed.
  void not_applicable(std::string reason);

  /// Something that a reader of the row should know; it judges nothing.
  void issue(std::string text);

  /// The case failed: the row is an error with this reason, never a number. The first reason stays.
  void fail(std::string_view reason);
  void fail(const Error& error);
  [[nodiscard]] bool failed() const;

  /// Operations that a load case should do: 0 means "for the window of the size", else exactly so
  /// many (--plimsoll_ops, an A/B sample).
  [[nodiscard]] std::uint64_t fixed_operations() const;

 private:
  void resources(const load::Report& report);

  const std::string& name_;
  benchmark::State& state_;
  Record& record_;
};

using Body = std::function<void(Case&)>;

/// Registers a case whose body runs Google Benchmark's loop (`for (auto _ : c.state())`). `name` is
/// group/subject/case/param:value. With a resource other than kCpu the clock is real time. An
/// exception from the body fails the case.
void cpu_case(std::string name, Body body, CaseOptions options = {});

/// Registers a case whose body runs the load runner once and calls `report`.
void load_case(std::string name, Body body, CaseOptions options = {Resource::kDb, true});

/// Registers a case whose body runs once and counts work: counters and invariants of a fixed number
/// of operations, such as the WAL pass (wal.hpp). Its time is never judged.
void work_case(std::string name, Body body, Resource resource = Resource::kDb);

/// Each bench binary defines this once: it registers every case of the group. Called after flags
/// are read, so that `scaled` works.
void register_cases();

/// The group's name, e.g. "vault_crypto"; each bench binary defines it.
extern const std::string_view kGroup;

}  // namespace plimsoll::bench
