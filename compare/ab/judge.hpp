#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compare/stats/stats.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::compare {

enum class AbVerdict {
  kRegressed,        ///< CONFIRMED: significant, and at least the minimum effect slower.
  kImproved,         ///< The same in the good direction.
  kSame,             ///< Not confirmed, and a slowdown of twice the minimum effect is excluded.
  kUndecided,        ///< Not confirmed, but the spread does not exclude such a slowdown.
  kInconclusive,     ///< The machine was disturbed for as long as there was patience.
  kUnchangedBinary,  ///< Equal build ids: nothing to measure.
  kMissing,          ///< Only one side has it.
  kError,            ///< A sample failed; a failed sample is never a number.
};

/// The verdict in words, e.g. "unchanged binary".
[[nodiscard]] std::string_view name(AbVerdict verdict) noexcept;

/// How an A/B decides. The defaults are aa-quiet's for a shared two-core machine.
struct AbPolicy {
  std::size_t first_pairs = 12;  ///< At least: see pairs_at_first_look.
  std::size_t final_pairs = 24;
  double first_alpha =
      0.002;  ///< Two-sided, cpu cases only: the others are judged at the final look alone.
  double final_alpha = 0.01;  ///< Two-sided.
  double confidence =
      0.95;  ///< Of the interval that is reported and that decides between same and undecided.
  double futility_confidence = 0.99;  ///< Of the interval that may end a case early.
};

/// A policy that no difference, however large, could make fire, is refused: kInvalidArgument with
/// the arithmetic.
[[nodiscard]] Result<void> check_resolution(const AbPolicy& policy, std::size_t benchmarks);

/// Log ratios (fresh over base, so that slower is above 0) of one benchmark, and what counts as an
/// effect.
struct PairEvidence {
  std::vector<double> log_ratios;
  double min_effect = 0;  ///< Relative, e.g. 0.05.
  bool may_fire = false;  ///< Whether this look may confirm; else it may only give up (futility).
  bool settled =
      false;  ///< Confirmed at an earlier look: keeps its place in the family, is not judged again.
};

struct Judgement {
  Estimate log_ratio{};
  double p = 1;
  double p_adjusted = 1;
  AbVerdict verdict = AbVerdict::kUndecided;
  bool stop = false;  ///< No further pairs are needed.
  std::string reason;
};

/// The pairs after which the first look is taken: first_pairs, or, in a family too large for these
/// to confirm anything, as many as can when the weakest pair of all points the other way. Decided
/// before anything is measured, so the looks remain two at their levels. At most final_pairs.
[[nodiscard]] std::size_t pairs_at_first_look(const AbPolicy& policy, std::size_t family);

/// The first look. What may fire is confirmed at Holm-adjusted p <= first_alpha with at least the
/// minimum effect. Whatever its p, a case stops as `same` when the futility interval lies within
/// the minimum effect on both sides: that can only lose a confirmation, never make one, so the
/// false rate does not rise.
[[nodiscard]] std::vector<Judgement> first_look(std::span<const PairEvidence> family,
                                                const AbPolicy& policy);

/// The last look, over the same family. Cases confirmed at the first look come as `settled`; cases
/// that stopped for futility come with what they have and `may_fire` false, and still count in the
/// family.
///
/// The chance of one false confirmation in the whole A/B, in either direction, is at most
/// first_alpha + final_alpha, and half of that for a false regression: a null case is confirmed
/// either at the first look, where Holm bounds the family by first_alpha, or at the last, where the
/// first null case that Holm's steps reach faces final_alpha divided by at least the number of null
/// cases, since only true effects were taken out before it.
///
/// That takes pairs whose signs are independent. Noise that reaches from one sample into the next
/// makes neighbours alike, since one coin turns both pairs of a block: at a correlation of 0.5
/// between samples 0.015 instead of 0.010 (simulated, 24 pairs, no minimum effect). The minimum
/// effect, of several times the noise, is what keeps it below the bound then.
[[nodiscard]] std::vector<Judgement> final_look(std::span<const PairEvidence> family,
                                                const AbPolicy& policy);

}  // namespace plimsoll::compare
