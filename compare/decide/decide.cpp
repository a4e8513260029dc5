#include "compare/decide/decide.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "compare/decide/evidence.hpp"

namespace plimsoll::compare {
namespace {

bool measured(const Seen& seen) { return !seen.run->samples.empty() && seen.run->errors.empty(); }

template <class Predicate>
const Seen* first(const std::vector<Seen>& runs, Predicate predicate) {
  const auto found = std::find_if(runs.begin(), runs.end(), predicate);
  return found == runs.end() ? nullptr : &*found;
}

std::string in_file(const std::string& message, const Seen& seen) {
  return message + " (" + seen.session->file + ")";
}

/// What makes the new side unfit to be compared as a whole; says so and returns false.
bool new_side_is_whole(const Evidence& evidence, std::vector<Finding>& findings) {
  const auto report = [&](Verdict verdict, Reason reason, std::string detail) {
    findings.push_back(finding(evidence, verdict, reason));
    findings.back().detail = std::move(detail);
    return false;
  };
  const auto& after = evidence.after;
  if (const Seen* seen = first(after, [](const Seen& s) { return !s.run->errors.empty(); })) {
    return report(Verdict::kErrored, Reason::kFailed, in_file(seen->run->errors.front(), *seen));
  }
  for (const auto& [validity, reason] :
       {std::pair{Validity::kServerCrashed, Reason::kServerCrashed},
        std::pair{Validity::kUnbalanced, Reason::kUnbalanced}}) {
    const Validity wanted = validity;
    const Seen* seen = first(after, [=](const Seen& s) { return s.run->validity == wanted; });
    if (seen == nullptr) continue;
    const auto& reasons = seen->run->validity_reasons;
    return report(Verdict::kErrored, reason,
                  in_file(reasons.empty() ? std::string(name(wanted)) : reasons.front(), *seen));
  }
  if (const Seen* seen = first(after, [](const Seen& s) { return s.run->aggregates_only; })) {
    return report(Verdict::kAggregatesOnly, Reason::kNone,
                  in_file("run without --benchmark_report_aggregates_only", *seen));
  }
  if (const Seen* seen = first(after, [](const Seen& s) { return !s.run->skips.empty(); })) {
    const bool expected = !evidence.before.empty() || !evidence.elsewhere.empty();
    return report(expected ? Verdict::kMissing : Verdict::kNew, Reason::kSkipped,
                  in_file(seen->run->skips.front(), *seen));
  }
  return true;
}

/// The same for the old side, where only two files can be so.
bool old_side_is_whole(const Evidence& evidence, std::vector<Finding>& findings) {
  const auto& before = evidence.before;
  if (const Seen* seen = first(before, [](const Seen& s) { return s.run->aggregates_only; })) {
    findings.push_back(
        finding(evidence, Verdict::kAggregatesOnly, Reason::kBaselineAggregatesOnly));
    findings.back().detail =
        in_file("run the old side without --benchmark_report_aggregates_only", *seen);
    return false;
  }
  const auto broken = [](const Seen& s) { return !measured(s) || !s.run->skips.empty(); };
  if (const Seen* seen = first(before, broken)) {
    const bool skipped = seen->run->errors.empty() && !seen->run->skips.empty();
    findings.push_back(finding(evidence, skipped ? Verdict::kMissing : Verdict::kErrored,
                               Reason::kBaselineFailed));
    const auto& messages = seen->run->errors.empty() ? seen->run->skips : seen->run->errors;
    if (!messages.empty()) findings.back().detail = in_file(messages.front(), *seen);
    return false;
  }
  return true;
}

void judge_benchmark(const Evidence& evidence, std::vector<Finding>& findings) {
  if (evidence.after.empty()) {
    // On another class only what was measured is held; its list of cases may differ.
    if (evidence.before.empty()) return;
    const bool retired = evidence.question->retired.contains(evidence.benchmark);
    findings.push_back(finding(evidence, retired ? Verdict::kRetired : Verdict::kMissing,
                               retired ? Reason::kInRetiredList : Reason::kAbsent));
    return;
  }
  const bool whole = new_side_is_whole(evidence, findings);
  judge_invariants(evidence, whole, findings);  // One that broke counts however the run ended.
  if (!whole) return;
  judge_counters(evidence, findings);
  if (evidence.before.empty() && evidence.elsewhere.empty() && !evidence.question->before.empty()) {
    findings.push_back(finding(evidence, Verdict::kNew, Reason::kFirstSeen));
    return;
  }
  if (!old_side_is_whole(evidence, findings)) return;
  judge_times(evidence, findings);
}

/// A file in which nothing was measured is never a pass.
void judge_files(const Question& question, std::vector<Finding>& findings) {
  for (const auto& [sessions, reason] : {std::pair{&question.after, Reason::kNoRows},
                                         std::pair{&question.before, Reason::kBaselineNoRows}}) {
    for (const Session& session : *sessions) {
      if (!session.facts.complete) {
        Finding interrupted;
        interrupted.group = session.facts.group;
        interrupted.verdict = Verdict::kMissing;
        interrupted.reason = Reason::kInterrupted;
        interrupted.detail = session.file + ": its run was interrupted, measure it again";
        findings.push_back(std::move(interrupted));
      }
      if (!session.runs.empty()) continue;
      Finding found;
      found.group = session.facts.group;
      found.verdict = Verdict::kEmpty;
      found.reason = reason;
      found.detail = session.file;
      if (!session.issues.empty()) found.detail += ": " + session.issues.front();
      findings.push_back(std::move(found));
    }
  }
}

/// What fresh pairs say about a group as a whole stands beside what they say about its cases.
void judge_wholes(const Question& question, std::vector<Finding>& findings) {
  std::set<std::string> groups;
  for (const Session& session : question.after) groups.insert(session.facts.group);
  for (const Confirmation& pairs : question.confirmations) {
    if (pairs.cases <= 1 || !groups.contains(pairs.group)) continue;
    Finding found;
    found.group = pairs.group;
    found.benchmark = pairs.benchmark;
    found.metric = pairs.metric;
    found.klass = MetricClass::kTime;
    apply_to_clock(pairs, found);
    findings.push_back(std::move(found));
  }
}

std::map<std::string, Evidence> gather(const Question& question) {
  std::map<std::string, Evidence> evidence;
  const auto add = [&](const std::vector<Session>& sessions, std::vector<Seen> Evidence::*side) {
    for (const Session& session : sessions) {
      for (const Run& run : session.runs) {
        Evidence& of_run = evidence[run.name];
        of_run.question = &question;
        of_run.benchmark = run.name;
        (of_run.*side).push_back({&session, &run});
      }
    }
  };
  add(question.before, &Evidence::before);
  add(question.elsewhere, &Evidence::elsewhere);
  add(question.after, &Evidence::after);
  return evidence;
}

}  // namespace

Finding finding(const Evidence& evidence, Verdict verdict, Reason reason, std::string_view metric) {
  Finding found;
  for (const auto* side : {&evidence.before, &evidence.after}) {
    if (!side->empty()) found.group = side->back().session->facts.group;
  }
  found.benchmark = evidence.benchmark;
  found.metric = metric;
  found.verdict = verdict;
  found.reason = reason;
  if (!metric.empty()) {
    const MetricSpec spec = spec_of(evidence, metric);
    found.unit = spec.unit;
    found.klass = spec.klass;
  }
  return found;
}

MetricSpec spec_of(const Evidence& evidence, std::string_view metric) {
  for (const auto* side : {&evidence.after, &evidence.before, &evidence.elsewhere}) {
    for (auto seen = side->rbegin(); seen != side->rend(); ++seen) {
      const MetricsTable& table = seen->session->metrics;
      if (const auto found = table.find(metric); found != table.end()) return found->second;
    }
  }
  return {};
}

std::vector<std::string> metrics_of(const Evidence& evidence, MetricClass klass,
                                    const std::vector<Seen>& runs) {
  std::set<std::string> metrics;
  for (const Seen& seen : runs) {
    for (const auto& [metric, unused] : seen.run->samples) {
      if (spec_of(evidence, metric).klass == klass) metrics.insert(metric);
    }
  }
  return {metrics.begin(), metrics.end()};
}

double slowdown(double before, double after, Better better) {
  if (!(before > 0) || !(after > 0)) return kNoNumber;
  return better == Better::kHigher ? before / after : after / before;
}

Decision decide(const Question& question) {
  Decision decision;
  judge_files(question, decision.findings);
  for (const auto& [unused, evidence] : gather(question)) {
    judge_benchmark(evidence, decision.findings);
  }
  judge_wholes(question, decision.findings);
  std::stable_sort(decision.findings.begin(), decision.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     return std::tie(a.benchmark, a.metric, a.detail) <
                            std::tie(b.benchmark, b.metric, b.detail);
                   });
  for (const Finding& found : decision.findings) {
    ++decision.counts[static_cast<std::size_t>(found.verdict)];
    decision.exit = graver(decision.exit, exit_of(found.verdict));
  }
  return decision;
}

bool could_be_paired(const Finding& found) {
  switch (found.reason) {
    case Reason::kNotValid:  // Not judged for what the machine did; pairs have their own canary.
    case Reason::kOtherSpeed:
    case Reason::kOutright:  // Two files, of which the machine's speed may be the reason.
    case Reason::kRankSum:
      return true;
    default:
      return false;
  }
}

std::vector<std::string> suspects(const Decision& decision) {
  std::set<std::string> names;
  for (const Finding& found : decision.findings) {
    if (found.verdict == Verdict::kSuspect || could_be_paired(found)) {
      names.insert(found.benchmark);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace plimsoll::compare
