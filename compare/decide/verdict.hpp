#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "compare/model.hpp"

namespace plimsoll::compare {

/// What is said about one metric of one benchmark, or about a benchmark as a whole.
enum class Verdict {
  kOk,               ///< No change beyond the minimum effect, or fresh pairs found none.
  kImproved,         ///< Better by more than the minimum effect. Never fails.
  kSuspect,          ///< Looks slower, or cannot be told by stored numbers; only fresh pairs can.
  kConfirmed,        ///< Slower: a regression.
  kInconclusive,     ///< Was to be judged and could not be.
  kMissing,          ///< In the baseline, not measured now, and not in the retired list.
  kErrored,          ///< A repetition failed.
  kEmpty,            ///< A file without a single row.
  kNotANumber,       ///< A judged value is NaN, infinite, absent or not above zero.
  kAggregatesOnly,   ///< The repetitions were not written, only their means.
  kNew,              ///< Not in the baseline.
  kRetired,          ///< In the baseline and in the retired list.
  kInvariantBroken,  ///< A count that has one right value had another.
  kExactChanged,     ///< Work per operation grew, or changed where it must not.
  kUnchangedBinary,  ///< Equal build ids: its code cannot have changed its times.
  kNoBaseline,       ///< No stored times for this machine class and these settings.
};
inline constexpr std::size_t kVerdicts = 16;

/// In words with hyphens, as the JSON has it: "invariant-broken".
[[nodiscard]] std::string_view name(Verdict verdict) noexcept;

/// What the process returns. 0 ok, 1 confirmed regression, 3 inconclusive, 4 incomplete, 5
/// invariant or exact counter; 2 is bad usage and no verdict.
enum class Exit {
  kOk = 0,
  kRegression = 1,
  kUsage = 2,
  kInconclusive = 3,
  kIncomplete = 4,
  kBroken = 5
};

[[nodiscard]] Exit exit_of(Verdict verdict) noexcept;

/// The graver of two: 5 before 1 before 4 before 3 before 0.
[[nodiscard]] Exit graver(Exit a, Exit b) noexcept;

/// What a finding was decided by. The enumerators' names are the reason codes of the JSON.
enum class Reason {
  kNone,
  kWithinEffect,      ///< The change is at most the minimum effect.
  kScreened,          ///< The medians differ by more than the minimum effect.
  kUnscreened,        ///< Another binary, and stored numbers cannot screen this.
  kOutright,          ///< Beyond +50 %: two files with nothing to re-run get no better answer.
  kRankSum,           ///< Beyond the minimum effect and p at most alpha.
  kNotSignificant,    ///< Beyond the minimum effect and p above alpha.
  kFewSamples,        ///< Beyond the minimum effect, too few sessions to test.
  kPairsConfirmed,    ///< Fresh interleaved pairs confirm it.
  kPairsRefuted,      ///< Fresh interleaved pairs show no change.
  kPairsImproved,     ///< Fresh interleaved pairs show an improvement.
  kPairsUndecided,    ///< Fresh pairs could not tell.
  kClockConfirmed,    ///< The benchmark's clock was confirmed; this metric moved with it.
  kNotGated,          ///< Its case said that its time is not judged.
  kNotValid,          ///< No run of it was VALID.
  kBaselineNotValid,  ///< The same, on the old side.
  kNotPairable,       ///< Not a clock, so fresh pairs do not measure it: reported.
  kSameBuild,         ///< Equal build ids.
  kOtherClass,        ///< The baseline is of another machine class or other settings.
  kOtherSpeed,        ///< The canary beside the two sides says that the machine ran at two speeds.
  kFailed,            ///< A repetition failed, with the message in `detail`.
  kServerCrashed,     ///< The validity verdict says so.
  kUnbalanced,        ///< The validity verdict says so.
  kSkipped,           ///< Skipped on purpose, with the message in `detail`.
  kAbsent,            ///< The benchmark is not there.
  kMetricAbsent,      ///< The metric is in the baseline and not there now.
  kInRetiredList,
  kFirstSeen,
  kBaselineFailed,  ///< The old side failed, so there is nothing to compare with.
  kBaselineAggregatesOnly,
  kNoRows,
  kBaselineNoRows,
  kNotFinite,
  kNotPositive,
  kUnexpectedValue,  ///< An invariant: `before` is what was expected.
  kEqual,            ///< An exact counter within its tolerance.
  kWorse,            ///< An exact counter got worse.
  kBetter,           ///< An exact counter got better.
  kDiffers,          ///< An exact counter that may not change did.
  kInterrupted,      ///< The harness says that it did not come to its end.
};
[[nodiscard]] std::string_view name(Reason reason) noexcept;

/// What fresh interleaved pairs said about one benchmark.
struct Confirmation {
  enum class Outcome { kRegressed, kImproved, kSame, kUndecided, kUnchangedBinary, kFailed };
  std::string benchmark;
  std::string metric;  ///< The clock that was paired.
  Outcome outcome = Outcome::kUndecided;
  double ratio = 1;  ///< Fresh over base: above 1 is slower.
  double low = 0;
  double high = 0;
  double p = 1;
  std::size_t pairs = 0;
  std::string detail;
  std::string group{};  ///< With more than one case, of which group these are as a whole.
  std::size_t cases = 1;
};

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// One thing decided, with every number that went into it. A number that does not apply is NaN.
struct Finding {
  std::string group;
  std::string benchmark;  ///< Empty where the finding is about a file.
  std::string metric;     ///< Empty where it is about the whole benchmark.
  std::string unit;
  MetricClass klass = MetricClass::kInfo;
  Verdict verdict = Verdict::kOk;
  Reason reason = Reason::kNone;
  std::string detail;  ///< For people; may be empty.
  double before = kNoNumber;
  double after = kNoNumber;
  double ratio = kNoNumber;    ///< Above 1 is worse, whichever direction is good.
  double allowed = kNoNumber;  ///< The minimum effect or the tolerance, relative.
  double p = kNoNumber;
  std::size_t before_n = 0;  ///< Sessions, or repetitions where `p` is of repetitions.
  std::size_t after_n = 0;
  double pair_ratio = kNoNumber;
  double pair_low = kNoNumber;
  double pair_high = kNoNumber;
  double pair_p = kNoNumber;
  std::size_t pairs = 0;
};

}  // namespace plimsoll::compare
