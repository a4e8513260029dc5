#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::compare {

/// Which way a metric is good. Declared by the metrics table, never guessed from a name.
enum class Better { kLower, kHigher, kExact };

/// How a metric is judged.
enum class MetricClass {
  kInvariant,  ///< A count that has one right value.
  kWork,       ///< Work per operation: equal, or within `tolerance`. No statistics.
  kTime,       ///< Moves with the machine's mood: screened, and confirmed by fresh pairs only.
  kInfo,       ///< Shown, never judged.
};

/// One entry of the metrics table.
struct MetricSpec {
  std::string unit;
  Better better = Better::kLower;
  MetricClass klass = MetricClass::kInfo;
  double min_effect = 0;  ///< Relative: 0.05 says that less than 5 % is no change. kTime only.
  double tolerance = 0;   ///< Relative: what an exact counter may differ by. kWork only.
  bool operator==(const MetricSpec&) const = default;
};
using MetricsTable = std::map<std::string, MetricSpec, std::less<>>;

/// What a case's time depends on. It decides which clock gates and how repetitions become one
/// number.
enum class Resource {
  kCpu,      ///< cpu_time, best of the repetitions.
  kIo,       ///< real_time, median of the repetitions.
  kDb,       ///< real_time, best of the repetitions.
  kUnknown,  ///< A plain Google Benchmark row: both clocks, best of the repetitions.
};

/// Whether a run may be believed, as its harness said. A plain row is taken as valid.
enum class Validity {
  kValid,
  kGeneratorLimited,
  kHostContended,
  kNotSteady,
  kServerCrashed,
  kUnbalanced,
};

struct Invariant {
  double value = 0;
  double expected = 0;
  bool operator==(const Invariant&) const = default;
};

/// One benchmark in one session: every repetition of one name in one process.
struct Run {
  std::string name;  ///< The baseline's key. A second family of the same name is "name#2".
  Resource resource = Resource::kUnknown;
  bool gate = true;  ///< Whether its time is judged. Invariants and work counters always are.
  Validity validity = Validity::kValid;       ///< The first repetition's that is not VALID.
  std::vector<std::string> validity_reasons;  ///< In the harness' words.
  std::map<std::string, Invariant, std::less<>> invariants;  ///< A broken repetition's, if any.

  /// Metric to one value a repetition, by repetition index. `real_time` and `cpu_time` are in
  /// nanoseconds whatever the file's unit. A value that was NaN, null or absent in the row is a
  /// quiet NaN, so that it is judged instead of lost; infinities stay.
  std::map<std::string, std::vector<double>, std::less<>> samples;
  std::set<std::string, std::less<>> partial;  ///< Metrics that only some repetitions have.

  bool interleaved = false;         ///< Its repetitions are not neighbours in the file.
  bool aggregates_only = false;     ///< Only mean, median and the like were written.
  std::vector<std::string> errors;  ///< Messages of failed repetitions; samples leave them out.
  std::vector<std::string> skips;   ///< Messages of repetitions skipped on purpose (1.8 and later).
  std::vector<std::string> issues;  ///< What a reader of the result should know.
};

/// Facts about the process that measured. Empty where the file does not say.
struct Facts {
  bool ours = false;     ///< The file has context.plimsoll.
  bool complete = true;  ///< False where our harness was interrupted before its last case.
  std::string group;
  std::string size;
  std::string date;
  std::string executable;  ///< As the process was called; relative to where it ran.
  std::string build_type;
  std::string compiler;
  std::string flags;
  std::string commit;
  bool dirty = false;
  std::string build_id;       ///< Equal ids mean equal machine code.
  std::string machine_class;  ///< The key of the baselines.
  std::string settings_hash;  ///< Of every server's settings, in the order of their names.
  std::string seed;
  bool operator==(const Facts&) const = default;
};

/// One run of one benchmark binary.
struct Session {
  std::string file;
  std::string id;  ///< The process' own; for plain files a hash of the file's bytes.
  Facts facts;
  MetricsTable metrics;   ///< The file's table, or the defaults for plain files.
  std::vector<Run> runs;  ///< In order of name.
  std::vector<std::string> issues;
};

[[nodiscard]] std::string_view name(Better better) noexcept;
[[nodiscard]] std::string_view name(MetricClass klass) noexcept;
[[nodiscard]] std::string_view name(Resource resource) noexcept;
[[nodiscard]] std::string_view name(Validity validity) noexcept;

/// `cpu_time` or `real_time`.
[[nodiscard]] bool is_clock(std::string_view metric) noexcept;

/// The metric of the run's gating clock: `cpu_time` or `real_time`.
[[nodiscard]] std::string_view gating_clock(Resource resource) noexcept;

/// The table entry of a metric; one that the table does not name is kInfo.
[[nodiscard]] MetricSpec spec_of(const MetricsTable& table, std::string_view metric);

/// What a plain Google Benchmark file is judged by: both clocks and the two rates.
[[nodiscard]] const MetricsTable& default_metrics();

/// One session's number for one metric: the median of its repetitions for io, else the best one
/// (smallest, or largest where higher is better). Work counters take the median whatever the
/// resource. NaN where there is no repetition or one of them is not finite.
[[nodiscard]] double session_statistic(const Run& run, std::string_view metric,
                                       const MetricSpec& spec);

/// How fast the machine was beside the run: the smallest reading of the canary, as `cpu` cases
/// count their smallest repetition. NaN where the file does not say.
[[nodiscard]] double canary_of(const Run& run);

}  // namespace plimsoll::compare
