#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compare/ab/judge.hpp"
#include "compare/ab/sides.hpp"
#include "compare/model.hpp"
#include "compare/stats/stats.hpp"
#include "lib/core/result.hpp"

/// The A/B: two builds of a benchmark measured in turns, now, on this machine. Only such fresh
/// pairs turn a run red on time; stored numbers merely name suspects.
namespace plimsoll::compare {

/// A benchmark to measure: its group (whose binary is bench_<group>; empty when a side is one
/// binary) and its name as the result file has it.
struct AbTarget {
  std::string group;
  std::string benchmark;
  bool operator==(const AbTarget&) const = default;
};

/// Where an A/B has got to, for a line on a terminal.
struct AbProgress {
  std::string benchmark;
  std::size_t number = 0;  ///< Of `benchmarks`, from 1.
  std::size_t benchmarks = 0;
  std::size_t pairs = 0;  ///< Of this benchmark, kept so far.
  std::size_t pairs_wanted = 0;
  std::chrono::nanoseconds left{};
};

struct AbRequest {
  AbSide base;
  AbSide fresh;
  std::vector<AbTarget>
      targets;         ///< Empty: every benchmark that both sides have and `filter` finds.
  std::string filter;  ///< An extended regular expression, searched in the name; for empty targets.
  std::string size;    ///< smoke, short, full for our binaries; empty: as the environment says.
  AbPolicy policy;
  double min_effect = 0;  ///< Relative; 0: what the metrics table of the binary says, else 5 %.
  std::uint64_t seed = 1;
  bool null_control = false;  ///< The fresh side is a byte copy of the base: nothing may be found.
  std::chrono::milliseconds repetition{40};
  int repetitions = 4;
  std::chrono::seconds sample_limit{
      120};  ///< A sample process that takes longer is killed: an error.
  std::chrono::seconds calm_budget{
      120};  ///< For blocks during which the canary changed, in the whole A/B.
  std::filesystem::path repository = ".";           ///< Where revisions are looked up.
  std::function<void(const AbProgress&)> progress;  ///< Called between samples; may be empty.
  std::function<void(const std::string&)>
      say;  ///< One line that a person should see; may be empty.
};

/// One pair: neighbours in time, one of each side. In nanoseconds per operation.
struct AbPair {
  double base = 0;  ///< The gating clock's statistic.
  double fresh = 0;
  double base_real = 0;  ///< The same statistic of real_time, whatever gates.
  double fresh_real = 0;
};

/// What the canary saw beside one benchmark.
struct AbCanary {
  double median_ns = 0;         ///< Of its readings beside kept blocks.
  double worst = 0;             ///< The slowest of them, relative to the median.
  std::size_t void_blocks = 0;  ///< Blocks thrown away because it changed.
};

struct AbResult {
  AbTarget target;  ///< Of a group as a whole: the name "group/*".
  std::size_t cases = 1;
  Resource resource = Resource::kUnknown;
  std::string metric;  ///< cpu_time or real_time.
  double min_effect = 0;
  std::uint64_t operations = 0;  ///< Per repetition, the same on both sides; 0: by time.
  std::vector<AbPair> pairs;
  std::size_t looks = 0;  ///< How often a verdict was looked for.
  Estimate ratio{};       ///< fresh / base: Hodges-Lehmann and its confidence interval.
  double real_ratio = 0;  ///< The same of real_time, estimate only.
  double p = 1;           ///< Exact, two-sided.
  double p_adjusted = 1;  ///< Holm's, over the benchmarks of this A/B.
  AbCanary canary;
  std::map<Validity, std::size_t> doubts;  ///< Samples that their harness did not call VALID.
  AbVerdict verdict = AbVerdict::kUndecided;
  std::string reason;  ///< One line for people.
};

/// Whether its numbers mean anything.
[[nodiscard]] bool is_judged(const AbResult& result);

struct AbOutcome {
  std::string base;  ///< The sides, as a person would name them.
  std::string fresh;
  std::uint64_t seed = 0;
  AbPolicy policy;
  bool null_control = false;
  std::vector<AbResult> results;  ///< In the order of the targets, or of the names.
  std::vector<std::string> notes;
};

/// Resolves both sides (building revisions first, never while measuring), measures and judges.
///
/// Runs one process a sample and leaves none behind, whatever ends it. SIGINT and SIGTERM end it
/// with kCancelled. Takes 5 s a benchmark for 12 pairs, 10 s for 24. Errors: kInvalidArgument (no
/// such side, group or benchmark, the nearest named; a policy that could never fire), kNotFound,
/// kUnavailable (a build that failed, its output quoted), kCancelled. A benchmark that failed is
/// not an error here but its verdict.
[[nodiscard]] Result<AbOutcome> run_ab(const AbRequest& request);

}  // namespace plimsoll::compare
