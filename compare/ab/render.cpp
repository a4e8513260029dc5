#include "compare/ab/render.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/core/json.hpp"
#include "lib/core/statistics.hpp"
#include "lib/core/units.hpp"

namespace plimsoll::compare {
namespace {

using Json = nlohmann::ordered_json;

std::string time_of(const AbResult& result, double AbPair::*side) {
  if (result.pairs.empty() || result.cases > 1) return "-";  // Of many cases there is no median.
  std::vector<double> values;
  for (const AbPair& pair : result.pairs) values.push_back(pair.*side);
  const double ns = median(values);
  // Whole nanoseconds are too coarse for the fastest operations.
  if (ns < 100) return fmt::format("{:.3g} ns", ns);
  return format_duration(std::chrono::nanoseconds(std::llround(ns)));
}

/// One line of the table, cell by cell.
std::vector<std::string> cells_of(const AbResult& result) {
  std::vector<std::string> cells{result.target.benchmark,
                                 result.metric.empty() ? "-" : result.metric,
                                 time_of(result, &AbPair::base), time_of(result, &AbPair::fresh)};
  if (is_judged(result)) {
    cells.push_back(fmt::format("{:+.1f} %", (result.ratio.value - 1) * 100));
    cells.push_back(std::isinf(result.ratio.high)
                        ? "unbounded"
                        : fmt::format("{:+.1f} to {:+.1f}", (result.ratio.low - 1) * 100,
                                      (result.ratio.high - 1) * 100));
    cells.push_back(fmt::format("{:.2g}", result.p_adjusted));
  } else {
    cells.insert(cells.end(), 3, "-");
  }
  cells.push_back(std::to_string(result.pairs.size()));
  std::string verdict(name(result.verdict));
  if (result.verdict == AbVerdict::kRegressed) verdict = "REGRESSED";
  cells.push_back(fmt::format("{}: {}", verdict, result.reason));
  return cells;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const AbPolicy& policy) {
  return {{"first_pairs", policy.first_pairs}, {"final_pairs", policy.final_pairs},
          {"first_alpha", policy.first_alpha}, {"final_alpha", policy.final_alpha},
          {"confidence", policy.confidence},   {"futility_confidence", policy.futility_confidence}};
}

Json json_of(const AbResult& result) {
  Json pairs = Json::array();
  for (const AbPair& pair : result.pairs) {
    if (result.cases > 1) break;  // They stand in its cases.
    pairs.push_back({{"base", number(pair.base)},
                     {"fresh", number(pair.fresh)},
                     {"base_real", number(pair.base_real)},
                     {"fresh_real", number(pair.fresh_real)}});
  }
  Json json{{"benchmark", result.target.benchmark},
            {"group", result.target.group},
            {"verdict", name(result.verdict)},
            {"reason", result.reason},
            {"resource", name(result.resource)},
            {"metric", result.metric},
            {"cases", result.cases},
            {"min_effect", result.min_effect},
            {"operations", result.operations}};
  if (is_judged(result)) {
    json["ratio"] = {{"value", number(result.ratio.value)},
                     {"low", number(result.ratio.low)},
                     {"high", number(result.ratio.high)}};
    json["real_time_ratio"] = number(result.real_ratio);
    json["p"] = result.p;
    json["p_adjusted"] = result.p_adjusted;
    json["looks"] = result.looks;
  }
  json["canary"] = {{"median_ns", number(result.canary.median_ns)},
                    {"worst", number(result.canary.worst)},
                    {"void_blocks", result.canary.void_blocks}};
  for (const auto& [validity, count] : result.doubts) {
    json["doubts"][std::string(name(validity))] = count;
  }
  json["pairs"] = std::move(pairs);
  return json;
}

bool found_anything(const AbOutcome& outcome) {
  return std::any_of(outcome.results.begin(), outcome.results.end(), [](const AbResult& result) {
    return result.verdict == AbVerdict::kRegressed || result.verdict == AbVerdict::kImproved;
  });
}

/// Lines about samples that their own harness doubts. A sample of 40 ms is hardly ever steady,
/// which is no news.
std::string doubts_of(const AbResult& result) {
  std::string text;
  for (const auto& [validity, count] : result.doubts) {
    if (validity == Validity::kNotSteady) continue;
    text += fmt::format("note: {}: {} of {} samples {}\n", result.target.benchmark, count,
                        2 * result.pairs.size(), name(validity));
  }
  return text;
}

std::string summary(const AbOutcome& outcome) {
  std::map<AbVerdict, int> counts;
  for (const AbResult& result : outcome.results) ++counts[result.verdict];
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts)
    parts.push_back(fmt::format("{} {}", count, name(verdict)));
  std::string line = parts.empty() ? "nothing measured" : fmt::format("{}", fmt::join(parts, ", "));
  const bool judged = std::any_of(outcome.results.begin(), outcome.results.end(), is_judged);
  if (outcome.null_control && !judged) {
    line += "; the null control says nothing";
  } else if (outcome.null_control) {
    line +=
        found_anything(outcome)
            ? "; the null control found a difference where there is none: believe no A/B here now"
            : "; the null control found nothing, as it should";
  }
  return line;
}

}  // namespace

bool is_judged(const AbResult& result) {
  constexpr std::array kJudged{AbVerdict::kRegressed, AbVerdict::kImproved, AbVerdict::kSame,
                               AbVerdict::kUndecided};
  return std::find(kJudged.begin(), kJudged.end(), result.verdict) != kJudged.end();
}

std::string ab_text(const AbOutcome& outcome) {
  std::vector<std::vector<std::string>> rows{
      {"benchmark", "metric", "base", "new", "change",
       fmt::format("{:.0f} % interval", outcome.policy.confidence * 100), "p", "pairs", "verdict"}};
  for (const AbResult& result : outcome.results) rows.push_back(cells_of(result));
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = fmt::format("A/B of {} (base) and {} (new), seed {}\n\n", outcome.base,
                                 outcome.fresh, outcome.seed);
  for (const auto& row : rows) {
    std::string line = fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i + 1 < row.size(); ++i)
      line += fmt::format("  {:>{}}", row[i], widths[i]);
    text += line + "  " + row.back() + "\n";
  }
  text += "\n";
  for (const AbResult& result : outcome.results) text += doubts_of(result);
  for (const std::string& note : outcome.notes) text += "note: " + note + "\n";
  return text + summary(outcome) + "\n";
}

std::string ab_json(const AbOutcome& outcome) {
  Json results = Json::array();
  for (const AbResult& result : outcome.results) results.push_back(json_of(result));
  const Json json{{"schema", 1},
                  {"kind", "ab"},
                  {"base", outcome.base},
                  {"fresh", outcome.fresh},
                  {"seed", outcome.seed},
                  {"null_control", outcome.null_control},
                  {"policy", json_of(outcome.policy)},
                  {"exit_code", ab_exit_code(outcome)},
                  {"results", std::move(results)},
                  {"notes", outcome.notes}};
  return json_text(json, 2) + "\n";
}

int ab_exit_code(const AbOutcome& outcome) {
  if (outcome.null_control && found_anything(outcome)) return 3;
  const auto any = [&](std::initializer_list<AbVerdict> verdicts) {
    return std::any_of(outcome.results.begin(), outcome.results.end(), [&](const AbResult& result) {
      return std::find(verdicts.begin(), verdicts.end(), result.verdict) != verdicts.end();
    });
  };
  if (any({AbVerdict::kRegressed})) return 1;
  if (any({AbVerdict::kError, AbVerdict::kMissing}) || outcome.results.empty()) return 4;
  return any({AbVerdict::kUndecided, AbVerdict::kInconclusive}) ? 3 : 0;
}

}  // namespace plimsoll::compare
