// What fresh pairs say about the clock that was paired, and about what was measured beside it.
#include <string_view>

#include "compare/decide/evidence.hpp"

namespace plimsoll::compare {
namespace {

/// Whether the metric is computed from the clock: a share of it changes the rate by the same share.
bool is_rate(std::string_view metric) { return metric.ends_with("_per_second"); }

}  // namespace

bool is_about(const Confirmation& pairs, std::string_view metric) {
  return pairs.metric.empty() ? is_clock(metric) : pairs.metric == metric;
}

void follow_clock(const Confirmation& pairs, Finding& found) {
  if (found.verdict != Verdict::kSuspect && !could_be_paired(found)) return;
  switch (pairs.outcome) {
    case Confirmation::Outcome::kRegressed:
      found.verdict = Verdict::kSuspect;
      found.reason = Reason::kClockConfirmed;
      return;
    case Confirmation::Outcome::kSame:
    case Confirmation::Outcome::kImproved:
      if (is_clock(found.metric) || is_rate(found.metric)) {
        found.verdict = Verdict::kOk;
        found.reason = Reason::kPairsRefuted;
        return;
      }
      // A percentile or a counter can get worse while the clock stays: pairs of the clock acquit it
      // of nothing. What could not be judged for the machine's sake is reported.
      found.verdict = found.verdict == Verdict::kInconclusive ? Verdict::kOk : Verdict::kSuspect;
      found.reason = Reason::kNotPairable;
      return;
    case Confirmation::Outcome::kUnchangedBinary:
      found.verdict = Verdict::kUnchangedBinary;
      found.reason = Reason::kSameBuild;
      return;
    case Confirmation::Outcome::kUndecided:
    case Confirmation::Outcome::kFailed:
      return;
  }
}

void apply_to_clock(const Confirmation& pairs, Finding& found) {
  found.pair_ratio = pairs.ratio;
  found.pair_low = pairs.low;
  found.pair_high = pairs.high;
  found.pair_p = pairs.p;
  found.pairs = pairs.pairs;
  found.detail = pairs.detail;
  switch (pairs.outcome) {
    case Confirmation::Outcome::kRegressed:
      found.verdict = Verdict::kConfirmed;
      found.reason = Reason::kPairsConfirmed;
      return;
    case Confirmation::Outcome::kImproved:
      found.verdict = Verdict::kImproved;
      found.reason = Reason::kPairsImproved;
      return;
    case Confirmation::Outcome::kSame:
      found.verdict = Verdict::kOk;
      found.reason = Reason::kPairsRefuted;
      return;
    case Confirmation::Outcome::kUndecided:
      found.verdict = Verdict::kInconclusive;
      found.reason = Reason::kPairsUndecided;
      return;
    case Confirmation::Outcome::kUnchangedBinary:
      found.verdict = Verdict::kUnchangedBinary;
      found.reason = Reason::kSameBuild;
      return;
    case Confirmation::Outcome::kFailed:
      found.verdict = Verdict::kErrored;
      found.reason = Reason::kFailed;
      return;
  }
}

}  // namespace plimsoll::compare
