#include "compare/ab/judge.hpp"

#include <fmt/format.h>

#include <cmath>

namespace plimsoll::compare {
namespace {

/// A relative effect in percent, as people say it: "5", "2.5".
std::string percent(double effect) { return fmt::format("{:.3g}", effect * 100); }

Judgement examine(const PairEvidence& evidence, double confidence) {
  Judgement judgement;
  if (evidence.log_ratios.empty()) return judgement;
  judgement.log_ratio = hodges_lehmann(evidence.log_ratios, confidence);
  judgement.p = signed_rank_p(evidence.log_ratios, Tail::kTwoSided);
  return judgement;
}

/// Confirms in either direction, or leaves the judgement as it was.
void confirm(Judgement& judgement, const PairEvidence& evidence, double alpha) {
  if (!evidence.may_fire || judgement.p_adjusted > alpha) return;
  const double floor = std::log1p(evidence.min_effect);
  if (std::abs(judgement.log_ratio.value) < floor) return;
  const bool slower = judgement.log_ratio.value > 0;
  judgement.verdict = slower ? AbVerdict::kRegressed : AbVerdict::kImproved;
  judgement.stop = true;
  judgement.reason =
      fmt::format("at least {} % {}, confirmed by {} pairs", percent(evidence.min_effect),
                  slower ? "slower" : "faster", evidence.log_ratios.size());
}

/// What is not confirmed is the same only if the interval leaves no room for what the gate is there
/// to catch. A floor equal to the effect catches it every second time, so that is twice the floor.
void settle_unconfirmed(Judgement& judgement, const PairEvidence& evidence, double alpha) {
  const double caught = 2 * evidence.min_effect;
  if (judgement.log_ratio.high >= std::log1p(caught)) {
    judgement.verdict = AbVerdict::kUndecided;
    judgement.reason = fmt::format("the spread of {} pairs does not exclude a slowdown of {} %",
                                   evidence.log_ratios.size(), percent(caught));
    return;
  }
  judgement.verdict = AbVerdict::kSame;
  const bool small_change = judgement.p_adjusted <= alpha && evidence.may_fire &&
                            std::abs(judgement.log_ratio.value) < std::log1p(evidence.min_effect);
  judgement.reason =
      small_change ? fmt::format("differs, but by less than {} %", percent(evidence.min_effect))
                   : fmt::format("a slowdown of {} % is excluded", percent(caught));
}

bool is_futile(const PairEvidence& evidence, double confidence) {
  const Estimate wide = hodges_lehmann(evidence.log_ratios, confidence);
  const double floor = std::log1p(evidence.min_effect);
  return wide.low > -floor && wide.high < floor;
}

}  // namespace

std::string_view name(AbVerdict verdict) noexcept {
  switch (verdict) {
    case AbVerdict::kRegressed:
      return "regressed";
    case AbVerdict::kImproved:
      return "improved";
    case AbVerdict::kSame:
      return "same";
    case AbVerdict::kUndecided:
      return "undecided";
    case AbVerdict::kInconclusive:
      return "inconclusive";
    case AbVerdict::kUnchangedBinary:
      return "unchanged binary";
    case AbVerdict::kMissing:
      return "missing";
    case AbVerdict::kError:
      return "error";
  }
  return "unknown";
}

Result<void> check_resolution(const AbPolicy& policy, std::size_t benchmarks) {
  if (policy.first_pairs < 2 || policy.first_pairs % 2 != 0 || policy.final_pairs % 2 != 0 ||
      policy.final_pairs < policy.first_pairs) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format(
            "pairs come in blocks of two, the last look not before the first: got {} and {}",
            policy.first_pairs, policy.final_pairs));
  }
  const double reachable =
      smallest_signed_rank_p(policy.final_pairs, Tail::kTwoSided) * static_cast<double>(benchmarks);
  if (reachable <= policy.final_alpha) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("this A/B could never turn red: {} pairs over {} benchmarks reach p = "
                          "{:.3g} at best, and "
                          "{:.3g} is asked; take more pairs or fewer benchmarks",
                          policy.final_pairs, benchmarks, reachable, policy.final_alpha));
}

std::size_t pairs_at_first_look(const AbPolicy& policy, std::size_t family) {
  // Of the 2^n ways to sign n ranks one has a negative sum of 0, one of 1.
  const auto reachable = [&](std::size_t pairs) {
    return 2 * smallest_signed_rank_p(pairs, Tail::kTwoSided) * static_cast<double>(family);
  };
  std::size_t pairs = policy.first_pairs;
  while (pairs < policy.final_pairs && reachable(pairs) > policy.first_alpha) pairs += 2;
  return pairs;
}

std::vector<Judgement> first_look(std::span<const PairEvidence> family, const AbPolicy& policy) {
  std::vector<Judgement> judgements;
  std::vector<double> p_values;
  for (const PairEvidence& evidence : family) {
    judgements.push_back(examine(evidence, policy.confidence));
    if (evidence.may_fire) p_values.push_back(judgements.back().p);
  }
  const std::vector<double> adjusted = holm(p_values);
  std::size_t next = 0;
  for (std::size_t i = 0; i < family.size(); ++i) {
    Judgement& judgement = judgements[i];
    if (family[i].may_fire) judgement.p_adjusted = adjusted[next++];
    if (family[i].log_ratios.empty()) continue;
    confirm(judgement, family[i], policy.first_alpha);
    if (!judgement.stop && is_futile(family[i], policy.futility_confidence)) {
      judgement.stop = true;
      judgement.verdict = AbVerdict::kSame;
      judgement.reason = fmt::format("a change of {} % is excluded", percent(family[i].min_effect));
    }
  }
  return judgements;
}

std::vector<Judgement> final_look(std::span<const PairEvidence> family, const AbPolicy& policy) {
  std::vector<Judgement> judgements;
  std::vector<double> p_values;
  for (const PairEvidence& evidence : family) {
    judgements.push_back(examine(evidence, policy.confidence));
    // A settled case takes its place in front, one that gave up its place at the end.
    p_values.push_back(evidence.settled ? 0.0 : evidence.may_fire ? judgements.back().p : 1.0);
  }
  const std::vector<double> adjusted = holm(p_values);
  for (std::size_t i = 0; i < family.size(); ++i) {
    judgements[i].p_adjusted = adjusted[i];
    judgements[i].stop = true;
    if (family[i].settled || family[i].log_ratios.empty()) continue;
    confirm(judgements[i], family[i], policy.final_alpha);
    if (judgements[i].reason.empty()) {
      settle_unconfirmed(judgements[i], family[i], policy.final_alpha);
    }
  }
  return judgements;
}

}  // namespace plimsoll::compare
