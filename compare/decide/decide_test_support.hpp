#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "compare/decide/decide.hpp"

/// Small questions for the tests of the judge.
namespace plimsoll::compare {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline Run run(double time, Resource resource = Resource::kCpu) {
  Run made;
  made.name = "g/s/c";
  made.resource = resource;
  made.samples["real_time"] = {time};
  made.samples["cpu_time"] = {time};
  return made;
}

inline MetricsTable table() {
  return {{"real_time", {"ns", Better::kLower, MetricClass::kTime, 0.05, 0}},
          {"cpu_time", {"ns", Better::kLower, MetricClass::kTime, 0.05, 0}},
          {"allocs", {"1", Better::kLower, MetricClass::kWork, 0, 0}},
          {"rows", {"1", Better::kExact, MetricClass::kWork, 0, 0}},
          {"hits", {"1", Better::kHigher, MetricClass::kWork, 0, 0}},
          {"wal", {"B", Better::kLower, MetricClass::kWork, 0, 0.01}},
          {"note", {"1", Better::kLower, MetricClass::kInfo, 0, 0}}};
}

inline Session session(std::vector<Run> runs, const std::string& build = "new") {
  Session made;
  made.file = build + ".json";
  made.facts.group = "g";
  made.facts.build_id = build;
  made.facts.machine_class = "m";
  made.metrics = table();
  made.runs = std::move(runs);
  return made;
}

inline std::vector<Session> sessions(std::size_t count, const Run& each, const std::string& build) {
  return std::vector<Session>(count, session({each}, build));
}

/// A question with `count` recorded sessions of time `before` and one new one of time `after`.
inline Question history(double before, double after, std::size_t count = 8,
                        Resource resource = Resource::kCpu) {
  Question question;
  question.before = sessions(count, run(before, resource), "old");
  question.after = {session({run(after, resource)})};
  return question;
}

inline Question pair(std::vector<double> before, std::vector<double> after) {
  Question question;
  question.kind = Question::Kind::kPair;
  for (const double time : before) question.before.push_back(session({run(time)}, "old"));
  for (const double time : after) question.after.push_back(session({run(time)}));
  return question;
}

/// The one finding about a metric.
inline Finding about(const Decision& decision, const std::string& metric) {
  std::vector<Finding> found;
  for (const Finding& finding : decision.findings) {
    if (finding.metric == metric) found.push_back(finding);
  }
  EXPECT_EQ(found.size(), 1U) << metric;
  return found.empty() ? Finding{} : found.front();
}

inline Finding only(const Decision& decision) {
  EXPECT_EQ(decision.findings.size(), 1U);
  return decision.findings.empty() ? Finding{} : decision.findings.front();
}

}  // namespace plimsoll::compare
