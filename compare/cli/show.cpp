#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "compare/cli/verbs.hpp"
#include "compare/history/baseline.hpp"
#include "compare/print.hpp"
#include "compare/read/reader.hpp"
#include "compare/render/report.hpp"
#include "compare/render/table.hpp"

namespace plimsoll::compare {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

/// What a reader should know about a run, in a few words.
std::string remarks(const Run& run) {
  std::vector<std::string> parts;
  if (!run.errors.empty()) parts.push_back("failed: " + run.errors.front());
  if (!run.skips.empty()) parts.push_back("skipped: " + run.skips.front());
  if (run.aggregates_only) parts.push_back("aggregates only");
  for (const auto& [key, invariant] : run.invariants) {
    if (invariant.value == invariant.expected) continue;
    parts.push_back(
        fmt::format("invariant {} is {}, not {}", key, invariant.value, invariant.expected));
  }
  parts.insert(parts.end(), run.validity_reasons.begin(), run.validity_reasons.end());
  parts.insert(parts.end(), run.issues.begin(), run.issues.end());
  return join(parts);
}

std::string statistic(const Run& run, const Session& session, std::string_view metric) {
  const MetricSpec spec = spec_of(session.metrics, metric);
  return format_value(session_statistic(run, metric, spec), spec.unit);
}

std::string heading(const Session& session) {
  const Facts& facts = session.facts;
  std::string line = fmt::format("{}: session {}", session.file, session.id);
  if (facts.ours) {
    line += fmt::format(", {} {}, build {:.12}, commit {:.12}{}, {}", facts.group, facts.size,
                        facts.build_id, facts.commit, facts.dirty ? " (dirty)" : "",
                        facts.machine_class);
  } else {
    line += ", plain Google Benchmark";
  }
  return printable(line) + "\n";
}

std::string text_of(const Session& session) {
  std::string out = heading(session);
  for (const std::string& issue : session.issues) out += "  note: " + printable(issue) + "\n";
  Table table({"benchmark", "validity", "resource", "n", "real_time", "cpu_time", "remarks"}, 3);
  for (const Run& run : session.runs) {
    std::size_t repetitions = 0;
    for (const auto& [unused, values] : run.samples) {
      repetitions = std::max(repetitions, values.size());
    }
    table.add({run.name, std::string(name(run.validity)), std::string(name(run.resource)),
               std::to_string(repetitions), statistic(run, session, "real_time"),
               statistic(run, session, "cpu_time"), remarks(run)});
  }
  return table.empty() ? out : out + table.text();
}

}  // namespace

int show_main(const ShowOptions& options) {
  const auto files = expand(options.files);
  if (!files) return usage_error("show", files.error().message);
  for (const std::string& file : *files) {
    auto text = read_bytes(file);
    if (!text) return usage_error("show", text.error().message);
    const auto sessions =
        is_baseline(*text) ? read_baseline(*text, file) : read_text(std::move(*text), file);
    if (!sessions) return usage_error("show", sessions.error().message);
    for (const Session& session : *sessions) {
      if (!print(text_of(session))) return usage_error("show", "standard output cannot be written");
    }
  }
  return 0;
}

}  // namespace plimsoll::compare
