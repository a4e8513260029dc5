#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "compare/decide/evidence.hpp"
#include "compare/stats/stats.hpp"
#include "lib/core/canary.hpp"
#include "lib/core/statistics.hpp"

namespace plimsoll::compare {
namespace {

/// Whether the metric gates a run of this resource: of the clocks only the one that it names.
bool gates(std::string_view metric, Resource resource) {
  return !is_clock(metric) || resource == Resource::kUnknown || metric == gating_clock(resource);
}

std::vector<Seen> valid_of(const std::vector<Seen>& runs) {
  std::vector<Seen> valid;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(valid),
               [](const Seen& seen) { return seen.run->validity == Validity::kValid; });
  return valid;
}

/// One number a session, of the sessions that have one.
std::vector<double> statistics_of(const std::vector<Seen>& runs, std::string_view metric,
                                  const MetricSpec& spec) {
  std::vector<double> values;
  for (const Seen& seen : runs) {
    const double value = session_statistic(*seen.run, metric, spec);
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

/// All repetitions of all runs, or nothing where a run's were not interleaved.
std::vector<double> interleaved_of(const std::vector<Seen>& runs, std::string_view metric,
                                   bool known) {
  std::vector<double> values;
  for (const Seen& seen : runs) {
    const auto samples = seen.run->samples.find(metric);
    if (!(known || seen.run->interleaved) || samples == seen.run->samples.end()) return {};
    values.insert(values.end(), samples->second.begin(), samples->second.end());
  }
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
    return {};
  }
  return values;
}

/// Equal machine code on both sides. History: as the newest recorded session, which is what the
/// baseline stands for. Two files: everywhere, and under equal settings, since two infrastructures
/// may be compared with one binary.
bool same_build(const Evidence& evidence) {
  if (evidence.before.empty()) return false;
  const Facts& reference = evidence.before.back().session->facts;
  if (reference.build_id.empty()) return false;
  const auto same = [&](const Seen& seen) {
    return seen.session->facts.build_id == reference.build_id &&
           seen.session->facts.settings_hash == reference.settings_hash;
  };
  const bool pair = evidence.question->kind == Question::Kind::kPair;
  return std::all_of(evidence.after.begin(), evidence.after.end(), same) &&
         (!pair || std::all_of(evidence.before.begin(), evidence.before.end(), same));
}

/// What the canary said beside these runs; NaN where no file says.
double canary_beside(const std::vector<Seen>& runs) {
  std::vector<double> readings;
  for (const Seen& seen : runs) {
    const double reading = canary_of(*seen.run);
    if (!std::isnan(reading)) readings.push_back(reading);
  }
  return readings.empty() ? kNoNumber : median(readings);
}

bool at_one_speed(double a, double b) { return std::abs(a / b - 1) <= kCanaryOff; }

/// Those that ran on the machine when it was as fast as beside `after`; all, where `after` does not
/// say how fast that was.
std::vector<Seen> as_fast_as(const std::vector<Seen>& after, const std::vector<Seen>& before) {
  const double now = canary_beside(after);
  if (std::isnan(now)) return before;
  std::vector<Seen> kept;
  std::copy_if(before.begin(), before.end(), std::back_inserter(kept),
               [&](const Seen& seen) { return at_one_speed(canary_beside({seen}), now); });
  return kept;
}

/// How much slower the canary was beside `after`; 1 where one of them does not say.
double speed_between(const std::vector<Seen>& before, const std::vector<Seen>& after) {
  const double ratio = canary_beside(after) / canary_beside(before);
  return std::isnan(ratio) ? 1 : ratio;
}

/// Two files of two kinds of machine, or of two ways to measure, say nothing about the code's
/// times.
bool other_class(const Evidence& evidence) {
  const Facts& facts = evidence.after.front().session->facts;
  const auto differs = [&](const Seen& seen) {
    const Facts& theirs = seen.session->facts;
    return theirs.machine_class != facts.machine_class || theirs.size != facts.size;
  };
  return std::any_of(evidence.before.begin(), evidence.before.end(), differs) ||
         std::any_of(evidence.after.begin(), evidence.after.end(), differs);
}

const Confirmation* confirmation_of(const Evidence& evidence) {
  const auto& all = evidence.question->confirmations;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Confirmation& c) {
    return c.benchmark == evidence.benchmark;
  });
  return found == all.end() ? nullptr : &*found;
}

/// A rate or a counter may be zero, of which nothing is a share: equal ones are equal, and only the
/// direction says which of two others is worse.
void compare_with_zero(Better better, Finding& found) {
  if (found.before == found.after) {
    found.verdict = Verdict::kOk;
    found.reason = Reason::kWithinEffect;
    return;
  }
  const bool worse = (found.after > found.before) == (better != Better::kHigher);
  found.verdict = worse ? Verdict::kSuspect : Verdict::kImproved;
  found.reason = Reason::kScreened;
  found.detail = found.before == 0 ? "from zero, of which nothing is a share" : "to zero";
}

/// Compares the medians over sessions: within the effect, better, or a suspect. `speed` is how much
/// slower the canary was than beside the old values. Within what passes for one speed it may still
/// hide a change: where taking it out shows twice the effect, that is a suspect too.
void screen(double speed, Better better, Finding& found) {
  const double at_equal_speed = found.ratio / speed;
  if (!is_clock(found.metric) && (found.before == 0 || found.after == 0)) {
    compare_with_zero(better, found);
  } else if (!(found.ratio > 0) || std::isinf(found.ratio)) {
    found.verdict = Verdict::kInconclusive;
    found.reason = Reason::kNotPositive;
    found.detail = found.before > 0 ? "the new value is too far from the old one for a ratio"
                                    : "the old value is not above zero";
  } else if (found.ratio > 1 + found.allowed || at_equal_speed > 1 + 2 * found.allowed) {
    found.verdict = Verdict::kSuspect;
    found.reason = Reason::kScreened;
  } else if (std::max(found.ratio, at_equal_speed) * (1 + found.allowed) < 1) {
    found.verdict = Verdict::kImproved;
    found.reason = Reason::kScreened;
  } else {
    found.verdict = Verdict::kOk;
    found.reason = Reason::kWithinEffect;
  }
}

/// The sessions that a new value is held against: the newest VALID ones, and of these for a cpu
/// case those in which the machine was as fast as now, if they are enough to screen.
std::vector<Seen> reference_of(const Evidence& evidence, const std::vector<Seen>& after,
                               Resource resource) {
  auto before = valid_of(evidence.before);
  if (evidence.question->kind == Question::Kind::kPair) return before;
  const Policy& policy = evidence.question->policy;
  if (before.size() > policy.window) {
    before.erase(before.begin(), before.end() - static_cast<std::ptrdiff_t>(policy.window));
  }
  if (resource != Resource::kCpu || after.empty()) return before;
  auto kept = as_fast_as(after, before);
  return kept.size() >= policy.screen_sessions ? kept : before;
}

/// Recorded numbers make suspects, of cpu cases with enough history at this speed of the machine;
/// else only fresh pairs can tell, and another binary is reason enough to ask them.
void judge_history(const std::vector<Seen>& before, const std::vector<Seen>& after,
                   const Policy& policy, Resource resource, Better better, Finding& found) {
  const std::size_t recorded = std::min(as_fast_as(after, before).size(), found.before_n);
  if (resource == Resource::kCpu && recorded >= policy.screen_sessions) {
    screen(speed_between(before, after), better, found);
  } else if (is_clock(found.metric)) {
    found.verdict = Verdict::kSuspect;
    found.reason = Reason::kUnscreened;
    if (resource == Resource::kCpu) {
      found.detail = fmt::format("{} sessions recorded at this speed of the machine, {} are needed",
                                 recorded, policy.screen_sessions);
    }
  } else {
    found.verdict = Verdict::kOk;
    found.reason = Reason::kNotPairable;
  }
}

/// Two sets of files: red beyond +50 %, or beyond the minimum effect when a test of enough samples
/// says so; a suspect otherwise.
void judge_pair(const Evidence& evidence, const std::vector<Seen>& before,
                const std::vector<Seen>& after, const MetricSpec& spec, Finding& found) {
  const Policy& policy = evidence.question->policy;
  const double speed = speed_between(before, after);
  if (!at_one_speed(speed, 1)) {
    found.verdict = Verdict::kInconclusive;
    found.reason = Reason::kOtherSpeed;
    found.detail = fmt::format("the canary beside them differs by {:+.0f} %", (speed - 1) * 100);
    return;
  }
  screen(speed, spec.better, found);
  std::vector<double> old_values = statistics_of(before, found.metric, spec);
  std::vector<double> new_values = statistics_of(after, found.metric, spec);
  bool testable = std::min(old_values.size(), new_values.size()) >= policy.test_sessions;
  if (!testable) {
    const bool known = evidence.question->interleaved;
    const auto old_repetitions = interleaved_of(before, found.metric, known);
    const auto new_repetitions = interleaved_of(after, found.metric, known);
    testable = std::min(old_repetitions.size(), new_repetitions.size()) >= policy.test_repetitions;
    if (testable) {
      old_values = old_repetitions;
      new_values = new_repetitions;
    }
  }
  if (testable) {
    found.p = rank_sum_p(old_values, new_values);
    found.before_n = old_values.size();
    found.after_n = new_values.size();
  }
  // Of repetitions the test weighs all, the ratio only the smallest: they may disagree.
  const double shift =
      testable ? slowdown(median(old_values), median(new_values), spec.better) : found.ratio;
  const bool all_worse = std::min(shift, shift / speed) > 1 + found.allowed;
  if (found.verdict != Verdict::kSuspect) {
    if (!testable || found.p > policy.alpha || !all_worse) return;
    found.verdict = Verdict::kSuspect;
    found.reason = Reason::kScreened;
    found.detail = fmt::format("{:.2f} times as slow by the median, not by the best", shift);
    return;
  }
  if (std::isnan(found.ratio)) return;  // From or to zero: no share to hold against a limit.
  if (std::min(found.ratio, found.ratio / speed) <= 1 + found.allowed) {
    found.reason = Reason::kNotSignificant;
    found.detail = "the machine's own speed could be all of it";
  } else if (found.ratio > 1 + policy.outright) {
    found.verdict = Verdict::kConfirmed;
    found.reason = Reason::kOutright;
  } else if (!testable) {
    found.reason = Reason::kFewSamples;
  } else if (found.p <= policy.alpha && shift > 1) {
    found.verdict = Verdict::kConfirmed;
    found.reason = Reason::kRankSum;
  } else {
    found.reason = Reason::kNotSignificant;
  }
}

/// Whether a run has the metric in every repetition.
bool has(const Seen& seen, std::string_view metric) {
  return seen.run->samples.contains(metric) && !seen.run->partial.contains(metric);
}

/// The first thing that is wrong with the new side's values of a metric, or kNone. A clock must be
/// in every run; another metric may be left out of some, as a percentile is where there were too
/// few samples for it.
Reason trouble_with(const Evidence& evidence, std::string_view metric, const MetricSpec& spec) {
  bool anywhere = false;
  for (const Seen& seen : evidence.after) {
    if (!is_clock(metric) && !has(seen, metric)) continue;
    anywhere = true;
    const double value = session_statistic(*seen.run, metric, spec);
    if (!std::isfinite(value)) return Reason::kNotFinite;
    if (value < 0 || (is_clock(metric) && !(value > 0))) return Reason::kNotPositive;
  }
  return anywhere ? Reason::kNone : Reason::kMetricAbsent;
}

/// The old run whose value of the metric is there and is no number, if any. Baselines hold none.
const Seen* broken_before(const Evidence& evidence, const std::string& metric,
                          const MetricSpec& spec) {
  const auto broken = [&](const Seen& seen) {
    return seen.run->samples.contains(metric) &&
           !std::isfinite(session_statistic(*seen.run, metric, spec));
  };
  const auto found = std::find_if(evidence.before.begin(), evidence.before.end(), broken);
  return found == evidence.before.end() ? nullptr : &*found;
}

/// Whether the metric is judged at all; if not, or if it cannot be, says so in `found`.
bool comes_to_judgement(const Evidence& evidence, const MetricSpec& spec, Finding& found) {
  const Run& run = *evidence.after.front().run;
  const auto settle = [&](Verdict verdict, Reason reason) {
    found.verdict = verdict;
    found.reason = reason;
    return false;
  };
  if (!run.gate) return settle(Verdict::kOk, Reason::kNotGated);
  const Reason trouble = trouble_with(evidence, found.metric, spec);
  if (trouble == Reason::kNotFinite || trouble == Reason::kNotPositive) {
    return settle(Verdict::kNotANumber, trouble);
  }
  if (evidence.before.empty()) return settle(Verdict::kNoBaseline, Reason::kOtherClass);
  if (const Seen* seen = broken_before(evidence, found.metric, spec)) {
    found.detail = fmt::format("the old value, in {}", seen->session->file);
    return settle(Verdict::kNotANumber, Reason::kNotFinite);
  }
  if (evidence.question->kind == Question::Kind::kPair && other_class(evidence)) {
    return settle(Verdict::kInconclusive, Reason::kOtherClass);
  }
  if (same_build(evidence)) return settle(Verdict::kUnchangedBinary, Reason::kSameBuild);
  if (trouble == Reason::kMetricAbsent) {
    // Where it would not have been judged either, it is not missed.
    const bool missed =
        evidence.question->kind == Question::Kind::kPair || run.resource == Resource::kCpu;
    return missed ? settle(Verdict::kInconclusive, trouble)
                  : settle(Verdict::kOk, Reason::kNotPairable);
  }
  return true;
}

void judge_time(const Evidence& evidence, const std::string& metric,
                std::vector<Finding>& findings) {
  const MetricSpec spec = spec_of(evidence, metric);
  const Resource resource = evidence.after.front().run->resource;
  Finding found = finding(evidence, Verdict::kOk, Reason::kNone, metric);
  found.allowed = spec.min_effect;

  const auto after = valid_of(evidence.after);
  const auto before = reference_of(evidence, after, resource);
  const auto old_values = statistics_of(before, metric, spec);
  const auto new_values = statistics_of(after.empty() ? evidence.after : after, metric, spec);
  found.before_n = old_values.size();
  found.after_n = new_values.size();
  if (!old_values.empty()) found.before = median(old_values);
  if (!new_values.empty()) found.after = median(new_values);
  found.ratio = slowdown(found.before, found.after, spec.better);

  if (!comes_to_judgement(evidence, spec, found)) {
    findings.push_back(std::move(found));
    return;
  }
  const Confirmation* pairs = confirmation_of(evidence);
  if (pairs != nullptr && is_about(*pairs, metric)) {
    apply_to_clock(*pairs, found);
  } else if (after.empty()) {
    const Run& run = *evidence.after.front().run;
    found.verdict = Verdict::kInconclusive;
    found.reason = Reason::kNotValid;
    found.detail = std::string(name(run.validity));
    const auto& reasons = run.validity_reasons;
    if (!reasons.empty()) found.detail += ": " + reasons.front();
    if (reasons.size() > 1) found.detail += fmt::format(", and {} more", reasons.size() - 1);
  } else if (new_values.empty()) {
    found.verdict = Verdict::kInconclusive;
    found.reason = Reason::kMetricAbsent;
  } else if (old_values.empty()) {
    found.verdict = before.empty() ? Verdict::kInconclusive : Verdict::kNew;
    found.reason = before.empty() ? Reason::kBaselineNotValid : Reason::kFirstSeen;
  } else if (evidence.question->kind == Question::Kind::kHistory) {
    judge_history(before, after, evidence.question->policy, resource, spec.better, found);
  } else {
    judge_pair(evidence, before, after, spec, found);
  }
  if (pairs != nullptr && !is_about(*pairs, metric)) follow_clock(*pairs, found);
  findings.push_back(std::move(found));
}

}  // namespace

void judge_times(const Evidence& evidence, std::vector<Finding>& findings) {
  const Resource resource = evidence.after.front().run->resource;
  std::set<std::string> metrics;
  for (const auto* side : {&evidence.after, &evidence.before}) {
    for (std::string& metric : metrics_of(evidence, MetricClass::kTime, *side)) {
      if (gates(metric, resource)) metrics.insert(std::move(metric));
    }
  }
  for (const std::string& metric : metrics) judge_time(evidence, metric, findings);
}

}  // namespace plimsoll::compare
