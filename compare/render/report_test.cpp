#include "compare/render/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "compare/render/json_text.hpp"
#include "compare/render/table.hpp"

namespace plimsoll::compare {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

Finding finding(const std::string& benchmark, Verdict verdict, Reason reason) {
  Finding made;
  made.group = "g";
  made.benchmark = benchmark;
  made.metric = "cpu_time";
  made.unit = "ns";
  made.klass = MetricClass::kTime;
  made.verdict = verdict;
  made.reason = reason;
  made.before = 1000;
  made.after = 1250;
  made.ratio = 1.25;
  made.allowed = 0.05;
  made.before_n = 8;
  made.after_n = 1;
  return made;
}

Report report_of(std::vector<Finding> findings) {
  Decision decision;
  decision.findings = std::move(findings);
  for (const Finding& found : decision.findings) {
    decision.exit = graver(decision.exit, exit_of(found.verdict));
  }
  Report report;
  report.heading = "check: 1 new session against 8 recorded ones (m, short)";
  add(decision, report);
  return report;
}

std::string last_line(const std::string& text) {
  const std::string body = text.substr(0, text.size() - 1);
  return body.substr(body.rfind('\n') + 1);
}

TEST(Text, SaysTheVerdictInItsLastLine) {
  struct Row {
    Verdict verdict;
    const char* line;
  };
  const Row rows[] = {{Verdict::kOk, "OK: nothing got worse"},
                      {Verdict::kConfirmed, "REGRESSION: g/b cpu_time +25.0 %"},
                      {Verdict::kSuspect, "INCONCLUSIVE: g/b cpu_time +25.0 %"},
                      {Verdict::kMissing, "INCOMPLETE: g/b cpu_time +25.0 %"},
                      {Verdict::kInvariantBroken, "BROKEN: g/b cpu_time +25.0 %"}};
  for (const Row& row : rows) {
    const std::string text =
        render_text(report_of({finding("g/b", row.verdict, Reason::kScreened)}), {});
    EXPECT_EQ(last_line(text), row.line);
  }
}

TEST(Text, ShowsOnlyWhatChangedUnlessAskedForEverything) {
  const Report report = report_of({finding("g/quiet", Verdict::kOk, Reason::kWithinEffect),
                                   finding("g/slow", Verdict::kSuspect, Reason::kScreened)});
  EXPECT_THAT(render_text(report, {}),
              AllOf(HasSubstr("g/slow"), Not(HasSubstr("g/quiet")), HasSubstr("1 ok, 1 suspect")));
  EXPECT_THAT(render_text(report, {false, true}), HasSubstr("g/quiet"));
}

TEST(Text, PutsTheGravestFirstAndAlignsTheColumns) {
  const std::string text = render_text(
      report_of(
          {finding("a/better", Verdict::kImproved, Reason::kScreened),
           finding("b/suspect", Verdict::kSuspect, Reason::kScreened),
           finding("c/with-a-long-name/entries:4096", Verdict::kExactChanged, Reason::kWorse)}),
      {});
  EXPECT_LT(text.find("c/with"), text.find("b/suspect"));
  EXPECT_LT(text.find("b/suspect"), text.find("a/better"));
  std::istringstream lines(text);
  std::vector<std::size_t> columns;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  "))
      columns.push_back(
          line.find(line.find("metric") == std::string::npos ? "cpu_time" : "metric"));
  }
  ASSERT_EQ(columns.size(), 4U);
  EXPECT_EQ(std::count(columns.begin(), columns.end(), columns.front()), 4);
}

TEST(Text, LeavesOutARateThatRepeatsItsClock) {
  Finding rate = finding("g/b", Verdict::kSuspect, Reason::kClockConfirmed);
  rate.metric = "items_per_second";
  Finding alone = rate;
  alone.benchmark = "g/other";
  Finding work = rate;
  work.metric = "allocs_per_op";
  work.klass = MetricClass::kWork;
  const Report report =
      report_of({finding("g/b", Verdict::kConfirmed, Reason::kPairsConfirmed), rate, alone, work});
  const std::string text = render_text(report, {});
  EXPECT_EQ(text.find("items_per_second"), text.rfind("items_per_second"));
  EXPECT_THAT(text, AllOf(HasSubstr("g/other"), HasSubstr("allocs_per_op")));
  const std::string all = render_text(report, {false, true});
  EXPECT_NE(all.find("items_per_second"), all.rfind("items_per_second"));
}

TEST(Text, ShowsARateThatIsGraverThanItsClock) {
  Finding rate = finding("g/b", Verdict::kConfirmed, Reason::kRankSum);
  rate.metric = "p99_us";
  const Report report = report_of({finding("g/b", Verdict::kImproved, Reason::kScreened), rate});
  const std::string text = render_text(report, {});
  EXPECT_THAT(text.substr(0, text.rfind("REGRESSION")), HasSubstr("p99_us"));
}

TEST(Text, NamesTheLargestRegressionAndCountsTheOthers) {
  Finding large = finding("b/large", Verdict::kConfirmed, Reason::kPairsConfirmed);
  large.ratio = 2;
  large.pairs = 24;
  large.pair_ratio = 1.9;
  large.pair_low = 1.8;
  large.pair_high = 2.0;
  large.pair_p = 0.00001;
  const std::string text = render_text(
      report_of({finding("a/small", Verdict::kConfirmed, Reason::kOutright), large}), {});
  EXPECT_EQ(last_line(text), "REGRESSION: b/large cpu_time +90.0 %, and 1 more");
  EXPECT_THAT(text, HasSubstr("24 fresh pairs: +90.0 % [+80.0, +100.0], p < 0.0001"));
}

TEST(Text, IsColouredOnlyWhenAsked) {
  const Report report = report_of({finding("g/b", Verdict::kConfirmed, Reason::kOutright)});
  EXPECT_THAT(render_text(report, {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(render_text(report, {true, false}), HasSubstr("\x1b[31m"));
}

TEST(Text, LetsNoEscapeSequenceThrough) {
  Finding evil = finding("g/\x1b[2Jb\n", Verdict::kErrored, Reason::kFailed);
  evil.detail = "died\nOK: nothing got worse";
  const std::string text = render_text(report_of({evil}), {});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(last_line(text).substr(0, 11), "INCOMPLETE:");
}

TEST(Text, SaysThatNothingWasMeasured) {
  EXPECT_THAT(render_text(report_of({}), {}), HasSubstr("nothing was measured"));
}

TEST(Json, HoldsEveryInputOfEveryDecision) {
  Finding found = finding("g/b", Verdict::kConfirmed, Reason::kRankSum);
  found.p = 0.0079;
  const json parsed = json::parse(render_json(report_of({found})));
  EXPECT_EQ(parsed.at("plimsoll_check"), 1);
  EXPECT_EQ(parsed.at("exit"), 1);
  EXPECT_EQ(parsed.at("verdict"), "regression");
  EXPECT_EQ(parsed.at("counts").at("confirmed"), 1);
  EXPECT_EQ(parsed.at("policy").at("alpha"), 0.01);
  const json& only = parsed.at("findings").at(0);
  EXPECT_EQ(only.at("reason"), "rank-sum");
  EXPECT_EQ(only.at("before"), 1000);
  EXPECT_EQ(only.at("after"), 1250);
  EXPECT_EQ(only.at("ratio"), 1.25);
  EXPECT_EQ(only.at("allowed"), 0.05);
  EXPECT_EQ(only.at("p"), 0.0079);
  EXPECT_EQ(only.at("before_n"), 8);
  EXPECT_TRUE(only.at("pair_p").is_null());
}

TEST(Json, IsValidWhateverTheNumbersAndNames) {
  Finding found = finding("g/\xff\"b", Verdict::kNotANumber, Reason::kNotFinite);
  found.before = std::numeric_limits<double>::infinity();
  found.after = std::numeric_limits<double>::quiet_NaN();
  const json parsed = json::parse(render_json(report_of({found})));
  EXPECT_TRUE(parsed.at("findings").at(0).at("before").is_null());
}

TEST(Json, IsOneFindingALine) {
  const std::string text = render_json(report_of(
      {finding("a", Verdict::kOk, Reason::kNone), finding("b", Verdict::kOk, Reason::kNone)}));
  EXPECT_THAT(text, HasSubstr("\n  {\"group\": \"g\", \"benchmark\": \"a\""));
  EXPECT_THAT(text, EndsWith("}\n"));
}

TEST(JsonText, ReadsBackEqual) {
  const auto value = nlohmann::ordered_json::parse(
      R"({"z": [1, 2.5, "a\"b"], "a": {"x": {"y": []}, "e": {}}, "n": null, "t": [[1], [2, [3]]]})");
  EXPECT_EQ(nlohmann::ordered_json::parse(json_text(value)), value);
  EXPECT_LT(json_text(value).find("\"z\""), json_text(value).find("\"a\""));
}

TEST(FormatValue, PrintsWhatAPersonReads) {
  EXPECT_EQ(format_value(0.937, "ns"), "0.94 ns");
  EXPECT_EQ(format_value(1250, "ns"), "1.25 us");
  EXPECT_EQ(format_value(250, "us"), "250 us");
  EXPECT_EQ(format_value(4.5e6, "1/s"), "4.50M/s");
  EXPECT_EQ(format_value(3, "1"), "3");
  EXPECT_EQ(format_value(2.5, "1/op"), "2.50/op");
  EXPECT_EQ(format_value(373, "B/op"), "373 B/op");
  EXPECT_EQ(format_value(kNoNumber, "ns"), "-");
  EXPECT_EQ(format_value(std::numeric_limits<double>::infinity(), "1"), "inf");
}

}  // namespace
}  // namespace plimsoll::compare
