#include "lib/load/validity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

struct Row {
  const char* what;
  std::function<void(Facts&)> change;
  Verdict verdict;
  const char* reason;  // A part of the only reason; "" for none.
};

void add(std::vector<Row>& rows, const char* what, Verdict verdict, const char* reason,
         std::function<void(Facts&)> change) {
  rows.push_back({what, std::move(change), verdict, reason});
}

std::vector<Row> books() {
  std::vector<Row> rows;
  const auto bad = Verdict::kUnbalanced;
  add(rows, "imbalance", bad, "planned 3", [](Facts& f) { f.imbalance = "planned 3 is not 2"; });
  add(rows, "histogram", bad, "holds 9", [](Facts& f) { f.finished = 10, f.recorded = 9; });
  add(rows, "nothing", bad, "no operation", [](Facts& f) { f.finished = f.recorded = 0; });
  add(rows, "open", bad, "had not ended", [](Facts& f) { f.unfinished = 1; });
  add(rows, "little below", Verdict::kValid, "",
      [](Facts& f) { f.mean_in_flight = 4, f.little_in_flight = 3.93; });
  add(rows, "little above", bad, "Little's law",
      [](Facts& f) { f.mean_in_flight = 4, f.little_in_flight = 3.9; });
  add(rows, "little other way", bad, "Little's law",
      [](Facts& f) { f.mean_in_flight = 3.9, f.little_in_flight = 4; });
  add(rows, "count equal", Verdict::kValid, "", [](Facts& f) {
    f.server_count = ServerCount{100, 100, 100};
  });
  add(rows, "one lost", bad, "the server counted 99 operations, the ledger 100", [](Facts& f) {
    f.server_count = ServerCount{99, 100, 100};
  });
  add(rows, "one too many", bad, "the server counted 101", [](Facts& f) {
    f.server_count = ServerCount{101, 100, 100};
  });
  add(rows, "unknown outcomes", Verdict::kValid, "", [](Facts& f) {
    f.server_count = ServerCount{103, 100, 105};
  });
  add(rows, "more than unknown", bad, "at least 100, at most 105", [](Facts& f) {
    f.server_count = ServerCount{106, 100, 105};
  });
  add(rows, "no count", bad, "connection refused",
      [](Facts& f) { f.server_count_error = "connection refused"; });
  return rows;
}

std::vector<Row> circumstances() {
  std::vector<Row> rows;
  const auto limited = Verdict::kGeneratorLimited;
  add(rows, "nothing wrong", Verdict::kValid, "", [](Facts&) {});
  add(rows, "share at limit", Verdict::kValid, "", [](Facts& f) { f.harness_share = 0.10; });
  add(rows, "share", limited, "harness used 11.0 %", [](Facts& f) { f.harness_share = 0.11; });
  add(rows, "lag at limit", Verdict::kValid, "", [](Facts& f) { f.pacer_lag_p99 = 5ms; });
  add(rows, "lag", limited, "generator itself was late", [](Facts& f) { f.pacer_lag_p99 = 6ms; });
  add(rows, "few caps", Verdict::kValid, "", [](Facts& f) { f.planned = 1000, f.cap_hits = 10; });
  add(rows, "caps", limited, "cap reached", [](Facts& f) { f.planned = 1000, f.cap_hits = 11; });
  add(rows, "nothing planned", Verdict::kValid, "", [](Facts& f) { f.planned = 0; });
  add(rows, "foreign at limit", Verdict::kValid, "", [](Facts& f) { f.foreign_cores = 0.05; });
  add(rows, "foreign", Verdict::kHostContended, "30 % of one core",
      [](Facts& f) { f.foreign_cores = 0.3; });
  add(rows, "steal", Verdict::kHostContended, "stole 3.0 %", [](Facts& f) { f.steal_share = .03; });
  add(rows, "not steady", Verdict::kNotSteady, "trend +40 %",
      [](Facts& f) { f.steady = false, f.steady_detail = "trend +40 %"; });
  add(rows, "crash", Verdict::kServerCrashed, "process 7 ended",
      [](Facts& f) { f.server_gone = {"server process 7 ended during the run"}; });
  return rows;
}

void expect_policy(const std::vector<Row>& rows) {
  for (const auto& [what, change, verdict, reason] : rows) {
    SCOPED_TRACE(what);
    Facts facts;
    change(facts);
    const Validity validity = judge(facts);
    EXPECT_EQ(validity.verdict, verdict);
    EXPECT_EQ(validity.valid(), verdict == Verdict::kValid);
    if (verdict == Verdict::kValid) {
      EXPECT_TRUE(validity.reasons.empty()) << testing::PrintToString(validity.reasons);
    } else {
      EXPECT_THAT(validity.reasons, ElementsAre(HasSubstr(reason)));
      EXPECT_TRUE(validity.has(verdict));
    }
  }
}

TEST(Validity, ThePolicyOnBooksHolds) { expect_policy(books()); }

TEST(Validity, ThePolicyOnGeneratorHostAndServerHolds) { expect_policy(circumstances()); }

TEST(Validity, TheGravestDecidesAndEveryReasonIsKept) {
  Facts facts;
  facts.steady = false;
  facts.foreign_cores = 1;
  facts.harness_share = 0.5;
  facts.unfinished = 3;
  facts.server_gone = {"server process 7 ended during the run"};
  const Validity validity = judge(facts);
  EXPECT_EQ(validity.verdict, Verdict::kServerCrashed);
  EXPECT_EQ(validity.reasons.size(), 5U);
  EXPECT_EQ(validity.found.size(), 5U);
}

TEST(Validity, LimitsCanBeSet) {
  Facts facts;
  facts.harness_share = 0.5;
  Limits limits;
  limits.harness_share = 0.6;
  EXPECT_TRUE(judge(facts, limits).valid());
}

TEST(Validity, MergeKeepsTheGraverVerdictAndAllReasons) {
  Validity a;
  a.add(Verdict::kHostContended, "x");
  Validity b;
  b.add(Verdict::kUnbalanced, "y");
  a.merge(b);
  EXPECT_EQ(a.verdict, Verdict::kUnbalanced);
  EXPECT_THAT(a.reasons, ElementsAre("x", "y"));
  a.merge(Validity{});
  EXPECT_EQ(a.verdict, Verdict::kUnbalanced);
}

TEST(Validity, NamesAreThoseOfTheResultFile) {
  EXPECT_EQ(name(Verdict::kValid), "VALID");
  EXPECT_EQ(name(Verdict::kGeneratorLimited), "GENERATOR_LIMITED");
  EXPECT_EQ(name(Verdict::kHostContended), "HOST_CONTENDED");
  EXPECT_EQ(name(Verdict::kNotSteady), "NOT_STEADY");
  EXPECT_EQ(name(Verdict::kServerCrashed), "SERVER_CRASHED");
  EXPECT_EQ(name(Verdict::kUnbalanced), "UNBALANCED");
}

}  // namespace
}  // namespace plimsoll::load
