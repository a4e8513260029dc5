#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "compare/render/report.hpp"
#include "compare/render/table.hpp"

namespace plimsoll::compare {
namespace {

constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kGreen = "\x1b[32m";

/// What a reader must see first: by exit, gravest first, then what merely changed.
int rank(const Finding& found) {
  switch (exit_of(found.verdict)) {
    case Exit::kBroken:
      return 0;
    case Exit::kRegression:
      return 1;
    case Exit::kIncomplete:
      return 2;
    case Exit::kInconclusive:
      return 3;
    default:
      return found.verdict == Verdict::kImproved ? 4 : 5;
  }
}

bool changed(const Finding& found) {
  return rank(found) < 5 || found.verdict == Verdict::kNew || found.verdict == Verdict::kRetired;
}

std::string_view colour_of(const Finding& found) {
  const int place = rank(found);
  return place < 3 ? kRed : place == 3 ? kYellow : place == 4 ? kGreen : std::string_view();
}

/// By how much the value itself moved, "+21.7 %"; the direction that is good is the verdict's.
std::string change_of(double before, double after) {
  if (!(std::isfinite(before) && std::isfinite(after)) || before == 0) return "";
  const double percent = (after / before - 1) * 100;
  return std::abs(percent) < 999.5 ? fmt::format("{:+.1f} %", percent)
                                   : fmt::format("{:+.3g} x", after / before);
}

std::string p_text(double p) { return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.4f}", p); }

/// Why, in words, with the numbers that decided.
std::string why(const Finding& found) {
  std::string text(name(found.reason));
  if (found.reason == Reason::kNone) text.clear();
  if (found.pairs > 0) {
    text = fmt::format("{} fresh pairs: {:+.1f} % [{:+.1f}, {:+.1f}], {}", found.pairs,
                       (found.pair_ratio - 1) * 100, (found.pair_low - 1) * 100,
                       (found.pair_high - 1) * 100, p_text(found.pair_p));
  } else if (std::isfinite(found.p) && found.reason != Reason::kOutright) {
    text += fmt::format(", {}, {} v {}", p_text(found.p), found.before_n, found.after_n);
  } else if (found.reason == Reason::kFewSamples) {
    text += fmt::format(", {} v {}", found.before_n, found.after_n);
  }
  if (!found.detail.empty()) text += (text.empty() ? "" : ": ") + found.detail;
  return text;
}

std::string counts_line(const Report& report) {
  std::array<std::size_t, kVerdicts> counts{};
  for (const Finding& found : report.findings) ++counts[static_cast<std::size_t>(found.verdict)];
  std::string line;
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    if (counts[i] == 0) continue;
    line +=
        fmt::format("{}{} {}", line.empty() ? "" : ", ", counts[i], name(static_cast<Verdict>(i)));
  }
  return line.empty() ? "nothing was measured" : line;
}

/// The finding that the verdict line names: the first of the gravest, and of the regressions the
/// largest.
const Finding* chief(const Report& report) {
  const Finding* best = nullptr;
  for (const Finding& found : report.findings) {
    if (exit_of(found.verdict) != report.exit) continue;
    const bool larger = best != nullptr && found.ratio > best->ratio;
    if (best == nullptr || (report.exit == Exit::kRegression && larger)) best = &found;
  }
  return best;
}

std::string verdict_line(const Report& report) {
  if (report.exit == Exit::kOk) return "OK: nothing got worse";
  const auto same_exit = static_cast<std::size_t>(
      std::count_if(report.findings.begin(), report.findings.end(),
                    [&](const Finding& f) { return exit_of(f.verdict) == report.exit; }));
  std::string subject;
  if (const Finding* found = chief(report)) {
    subject = found->benchmark.empty() ? found->detail : found->benchmark;
    if (!found->metric.empty()) subject += " " + found->metric;
    const bool paired = found->pairs > 0;
    const double base = paired ? 1 : found->before;
    const double now = paired ? found->pair_ratio : found->after;
    if (const std::string change = change_of(base, now); !change.empty()) subject += " " + change;
    if (same_exit > 1) subject += fmt::format(", and {} more", same_exit - 1);
  }
  subject = printable(std::move(subject));
  switch (report.exit) {
    case Exit::kRegression:
      return "REGRESSION: " + subject;
    case Exit::kBroken:
      return "BROKEN: " + subject;
    case Exit::kIncomplete:
      return "INCOMPLETE: " + subject;
    default:
      return "INCONCLUSIVE: " + subject;
  }
}

}  // namespace

std::string render_text(const Report& report, const TextStyle& style) {
  std::map<std::string_view, Exit> clocked;
  for (const Finding& found : report.findings) {
    if (!changed(found) || !is_clock(found.metric)) continue;
    Exit& gravest = clocked.try_emplace(found.benchmark, Exit::kOk).first->second;
    gravest = graver(gravest, exit_of(found.verdict));
  }
  std::vector<const Finding*> shown;
  for (const Finding& found : report.findings) {
    // A rate repeats what the line of its clock says, unless it says something graver.
    const auto clock = clocked.find(found.benchmark);
    const bool repeats = found.klass == MetricClass::kTime && !is_clock(found.metric) &&
                         clock != clocked.end() &&
                         graver(clock->second, exit_of(found.verdict)) == clock->second;
    if (style.everything || (changed(found) && !repeats)) shown.push_back(&found);
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const Finding* a, const Finding* b) { return rank(*a) < rank(*b); });
  Table table({"benchmark", "metric", "verdict", "before", "after", "change", "why"}, 3);
  for (const Finding* found : shown) {
    table.add({found->benchmark.empty() ? "-" : found->benchmark,
               found->metric.empty() ? "-" : found->metric, std::string(name(found->verdict)),
               format_value(found->before, found->unit), format_value(found->after, found->unit),
               change_of(found->before, found->after), why(*found)},
              std::string(style.colour ? colour_of(*found) : ""));
  }
  std::string out = printable(report.heading) + "\n";
  for (const std::string& note : report.notes) out += "  note: " + printable(note) + "\n";
  if (!table.empty()) out += table.text();
  out += counts_line(report) + "\n";
  const std::string_view colour = report.exit == Exit::kOk             ? kGreen
                                  : report.exit == Exit::kInconclusive ? kYellow
                                                                       : kRed;
  out += style.colour ? fmt::format("{}{}\x1b[0m\n", colour, verdict_line(report))
                      : verdict_line(report) + "\n";
  return out;
}

}  // namespace plimsoll::compare
