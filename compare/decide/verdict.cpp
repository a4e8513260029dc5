#include "compare/decide/verdict.hpp"

#include <array>

namespace plimsoll::compare {
namespace {

constexpr std::array<std::string_view, kVerdicts> kVerdictNames = {"ok",
                                                                   "improved",
                                                                   "suspect",
                                                                   "confirmed",
                                                                   "inconclusive",
                                                                   "missing",
                                                                   "errored",
                                                                   "empty",
                                                                   "not-a-number",
                                                                   "aggregates-only",
                                                                   "new",
                                                                   "retired",
                                                                   "invariant-broken",
                                                                   "exact-changed",
                                                                   "unchanged-binary",
                                                                   "no-baseline"};

constexpr auto kReasonNames = std::to_array<std::string_view>({"none",
                                                               "within-effect",
                                                               "screened",
                                                               "unscreened",
                                                               "outright",
                                                               "rank-sum",
                                                               "not-significant",
                                                               "few-samples",
                                                               "pairs-confirmed",
                                                               "pairs-refuted",
                                                               "pairs-improved",
                                                               "pairs-undecided",
                                                               "clock-confirmed",
                                                               "not-gated",
                                                               "not-valid",
                                                               "baseline-not-valid",
                                                               "not-pairable",
                                                               "same-build",
                                                               "other-class",
                                                               "other-speed",
                                                               "failed",
                                                               "server-crashed",
                                                               "unbalanced",
                                                               "skipped",
                                                               "absent",
                                                               "metric-absent",
                                                               "in-retired-list",
                                                               "first-seen",
                                                               "baseline-failed",
                                                               "baseline-aggregates-only",
                                                               "no-rows",
                                                               "baseline-no-rows",
                                                               "not-finite",
                                                               "not-positive",
                                                               "unexpected-value",
                                                               "equal",
                                                               "worse",
                                                               "better",
                                                               "differs",
                                                               "interrupted"});
static_assert(static_cast<std::size_t>(Reason::kInterrupted) + 1 == kReasonNames.size());
static_assert(static_cast<std::size_t>(Verdict::kNoBaseline) + 1 == kVerdicts);

}  // namespace

std::string_view name(Verdict verdict) noexcept {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}

std::string_view name(Reason reason) noexcept {
  return kReasonNames[static_cast<std::size_t>(reason)];
}

Exit exit_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kInvariantBroken:
    case Verdict::kExactChanged:
      return Exit::kBroken;
    case Verdict::kConfirmed:
      return Exit::kRegression;
    case Verdict::kMissing:
    case Verdict::kErrored:
    case Verdict::kEmpty:
    case Verdict::kNotANumber:
    case Verdict::kAggregatesOnly:
      return Exit::kIncomplete;
    case Verdict::kSuspect:
    case Verdict::kInconclusive:
      return Exit::kInconclusive;
    case Verdict::kOk:
    case Verdict::kImproved:
    case Verdict::kNew:
    case Verdict::kRetired:
    case Verdict::kUnchangedBinary:
    case Verdict::kNoBaseline:
      return Exit::kOk;
  }
  return Exit::kBroken;
}

Exit graver(Exit a, Exit b) noexcept {
  for (const Exit exit :
       {Exit::kBroken, Exit::kRegression, Exit::kIncomplete, Exit::kInconclusive}) {
    if (a == exit || b == exit) return exit;
  }
  return Exit::kOk;
}

}  // namespace plimsoll::compare
