#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compare/decide/evidence.hpp"

namespace plimsoll::compare {
namespace {

// A count per operation is a quotient; two equal ones may differ in the last bits.
constexpr double kRounding = 1e-9;

struct Range {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  std::size_t n = 0;

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
    ++n;
  }
};

/// The sessions whose counts are the ones to equal: of two sets of files the whole old set, else
/// those of the newest recorded build that counted this. What older builds counted was true of
/// them; another class is asked only where this one knows nothing.
Range reference_of(const Evidence& evidence, const std::string& metric, const MetricSpec& spec) {
  const auto value_of = [&](const Seen& seen) {
    return session_statistic(*seen.run, metric, spec);
  };
  Range reference;
  for (const auto* side : {&evidence.before, &evidence.elsewhere}) {
    const Facts* newest = nullptr;
    for (const Seen& seen : *side) {
      const Facts& facts = seen.session->facts;
      if (!std::isfinite(value_of(seen))) continue;
      if (newest == nullptr || facts.date >= newest->date) newest = &facts;
    }
    if (newest == nullptr) continue;
    const bool all = evidence.question->kind == Question::Kind::kPair;
    for (const Seen& seen : *side) {
      if (all || seen.session->facts.build_id == newest->build_id) reference.add(value_of(seen));
    }
    break;
  }
  return reference;
}

/// The verdict on a counter whose sessions read `now` where they used to read `reference`. One that
/// got worse in one session and better in another got worse.
void compare_counter(const MetricSpec& spec, const Range& reference, const Range& now,
                     Finding& found) {
  const double slack = spec.tolerance + kRounding;
  const bool above = now.high > reference.high + slack * std::abs(reference.high);
  const bool below = now.low < reference.low - slack * std::abs(reference.low);
  const bool worse_above = above && spec.better != Better::kHigher;
  const bool worse_below = below && spec.better != Better::kLower;
  const bool show_high = worse_above || (above && !worse_below);
  found.before = show_high ? reference.high : reference.low;
  found.after = show_high ? now.high : now.low;
  found.before_n = reference.n;
  found.after_n = now.n;
  found.ratio = slowdown(found.before, found.after, spec.better);
  if (worse_above || worse_below) {
    found.verdict =
        spec.klass == MetricClass::kInvariant ? Verdict::kInvariantBroken : Verdict::kExactChanged;
    found.reason = spec.better == Better::kExact ? Reason::kDiffers : Reason::kWorse;
  } else if (above || below) {
    found.verdict = Verdict::kImproved;
    found.reason = Reason::kBetter;
  }
}

void judge_counter(const Evidence& evidence, const std::string& metric,
                   std::vector<Finding>& findings) {
  const MetricSpec spec = spec_of(evidence, metric);
  Finding found = finding(evidence, Verdict::kOk, Reason::kEqual, metric);
  found.allowed = spec.tolerance;

  const Range reference = reference_of(evidence, metric, spec);
  Range now;
  for (const Seen& seen : evidence.after) {
    const auto samples = seen.run->samples.find(metric);
    if (samples == seen.run->samples.end()) {
      found.verdict = Verdict::kMissing;
      found.reason = Reason::kMetricAbsent;
      found.detail = fmt::format("in {}", seen.session->file);
      break;
    }
    const double value = session_statistic(*seen.run, metric, spec);
    if (!std::isfinite(value)) {
      found.verdict = Verdict::kNotANumber;
      found.reason = Reason::kNotFinite;
      found.detail = fmt::format("in {}", seen.session->file);
      break;
    }
    now.add(value);
  }
  if (found.verdict == Verdict::kOk) {
    const auto& before = evidence.before;
    const auto broken = std::find_if(before.begin(), before.end(), [&](const Seen& seen) {
      return seen.run->samples.contains(metric) &&
             !std::isfinite(session_statistic(*seen.run, metric, spec));
    });
    if (broken != before.end()) {
      found.verdict = Verdict::kNotANumber;
      found.reason = Reason::kNotFinite;
      found.detail = fmt::format("the old value, in {}", broken->session->file);
    } else if (reference.n == 0) {
      return;  // First seen: there is nothing to hold it against.
    } else {
      compare_counter(spec, reference, now, found);
    }
  }
  findings.push_back(std::move(found));
}

}  // namespace

void judge_invariants(const Evidence& evidence, bool whole, std::vector<Finding>& findings) {
  std::set<std::string> held;
  for (const Seen& seen : evidence.after) {
    for (const auto& [name, invariant] : seen.run->invariants) {
      const bool broken = !(invariant.value == invariant.expected);  // A NaN is broken too.
      if (!broken && !held.insert(name).second) continue;
      Finding found =
          broken ? finding(evidence, Verdict::kInvariantBroken, Reason::kUnexpectedValue, name)
                 : finding(evidence, Verdict::kOk, Reason::kEqual, name);
      found.klass = MetricClass::kInvariant;
      found.before = invariant.expected;
      found.after = invariant.value;
      found.after_n = 1;
      if (broken) found.detail = fmt::format("in {}", seen.session->file);
      findings.push_back(std::move(found));
      held.insert(name);
    }
  }
  // An invariant that is no longer counted cannot break any more, which is a broken gate. A failed
  // run may have ended before it could count.
  if (!whole) return;
  std::set<std::string> lost;
  for (const auto* side : {&evidence.before, &evidence.elsewhere}) {
    for (const Seen& seen : *side) {
      for (const auto& [name, unused] : seen.run->invariants) {
        if (!held.contains(name)) lost.insert(name);
      }
    }
  }
  for (const std::string& name : lost) {
    Finding found = finding(evidence, Verdict::kMissing, Reason::kMetricAbsent, name);
    found.klass = MetricClass::kInvariant;
    findings.push_back(std::move(found));
  }
}

void judge_counters(const Evidence& evidence, std::vector<Finding>& findings) {
  for (const MetricClass klass : {MetricClass::kInvariant, MetricClass::kWork}) {
    std::set<std::string> metrics;
    for (const auto* side : {&evidence.after, &evidence.before, &evidence.elsewhere}) {
      for (std::string& metric : metrics_of(evidence, klass, *side)) metrics.insert(metric);
    }
    for (const std::string& metric : metrics) judge_counter(evidence, metric, findings);
  }
}

}  // namespace plimsoll::compare
