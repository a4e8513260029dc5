#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compare/decide/decide.hpp"
#include "compare/decide/verdict.hpp"
#include "compare/model.hpp"

namespace plimsoll::compare {

/// One run and the session that it belongs to.
struct Seen {
  const Session* session;
  const Run* run;
};

/// All runs of one benchmark. The pointers are into the question.
struct Evidence {
  const Question* question;
  std::string benchmark;
  std::vector<Seen> before;
  std::vector<Seen> elsewhere;
  std::vector<Seen> after;
};

/// A finding about the benchmark as a whole, or with `metric` about one of its metrics.
[[nodiscard]] Finding finding(const Evidence& evidence, Verdict verdict, Reason reason,
                              std::string_view metric = {});

/// The metric's entry: the newest table that names it, the new side first.
[[nodiscard]] MetricSpec spec_of(const Evidence& evidence, std::string_view metric);

/// Whether fresh pairs were of this very clock. Where they failed before they knew which clock
/// gates, they are about both.
[[nodiscard]] bool is_about(const Confirmation& pairs, std::string_view metric);

/// What pairs of the clock say about a suspect that is another metric, or that was measured in a
/// run that is not valid. A rate is computed from the clock and follows it; a percentile does not.
void follow_clock(const Confirmation& pairs, Finding& found);

/// What fresh pairs say about the clock that was paired.
void apply_to_clock(const Confirmation& pairs, Finding& found);

/// Whether fresh pairs, if there can be any, have the last word on a finding that is no suspect.
[[nodiscard]] bool could_be_paired(const Finding& found);

/// Every metric of one class that any of `runs` measured, in order.
[[nodiscard]] std::vector<std::string> metrics_of(const Evidence& evidence, MetricClass klass,
                                                  const std::vector<Seen>& runs);

/// Above 1 is worse, whichever direction is good. NaN unless both are above 0.
[[nodiscard]] double slowdown(double before, double after, Better better);

/// Holds every stated invariant of the new side. `whole` false: the runs failed or measured nothing
/// comparable, so that an invariant may be absent. REQUIRES: `after` is not empty.
void judge_invariants(const Evidence& evidence, bool whole, std::vector<Finding>& findings);

/// Judges work counters. REQUIRES: every run of `after` has samples.
void judge_counters(const Evidence& evidence, std::vector<Finding>& findings);

/// Judges times. REQUIRES: every run of `after` has samples.
void judge_times(const Evidence& evidence, std::vector<Finding>& findings);

}  // namespace plimsoll::compare
