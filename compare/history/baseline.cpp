#include "compare/history/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "compare/read/result_handler.hpp"
#include "compare/read/session_builder.hpp"
#include "compare/render/json_text.hpp"
#include "lib/core/canary.hpp"
#include "lib/core/json.hpp"
#include "lib/core/statistics.hpp"

namespace plimsoll::compare {
namespace {

using nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr const char* kSchemaKey = "plimsoll_baseline";

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Why a session can be nobody's baseline, or "".
std::string unfit(const Session& session) {
  const Facts& facts = session.facts;
  if (!facts.ours) {
    return "has no context.plimsoll (machine class, size, build); plain Google Benchmark files are "
           "compared as two files: plimsoll-compare check OLD NEW";
  }
  if (!facts.complete) return "is of a run that was interrupted; measure it again";
  if (facts.size == "smoke")
    return "is of size smoke, which proves that a case works, not its time";
  const std::string type = lower(facts.build_type);
  if (type != "release" && type != "relwithdebinfo" && type != "minsizerel") {
    return fmt::format("was built as '{}'; only an optimised build can be a baseline",
                       facts.build_type);
  }
  if (facts.flags.find("-fsanitize") != std::string::npos) return "was built with a sanitizer";
  return {};
}

/// Why a run is not recorded, or "".
std::string unfit(const Run& run) {
  if (!run.errors.empty()) return fmt::format("failed: {}", run.errors.front());
  if (!run.skips.empty()) return fmt::format("skipped: {}", run.skips.front());
  if (run.aggregates_only || run.samples.empty()) return "has no repetitions";
  if (run.validity != Validity::kValid) return fmt::format("{}", name(run.validity));
  for (const auto& [key, invariant] : run.invariants) {
    if (!(invariant.value == invariant.expected)) return fmt::format("invariant {} broke", key);
  }
  return {};
}

Ordered digest(const Run& run, const MetricsTable& table) {
  Ordered metrics = Ordered::object();
  for (const auto& [metric, values] : run.samples) {
    const MetricSpec spec = spec_of(table, metric);
    if (spec.klass == MetricClass::kInfo && metric != kCanaryMetric) continue;
    const double statistic =
        metric == kCanaryMetric ? canary_of(run) : session_statistic(run, metric, spec);
    if (!std::isfinite(statistic)) continue;
    metrics[metric] = {{"statistic", statistic},
                       {"min", *std::min_element(values.begin(), values.end())},
                       {"median", median(values)},
                       {"n", values.size()}};
  }
  Ordered invariants = Ordered::array();
  for (const auto& [key, unused] : run.invariants) invariants.push_back(key);
  return {{"resource", name(run.resource)},
          {"gate", run.gate},
          {"invariants", std::move(invariants)},
          {"metrics", std::move(metrics)}};
}

Ordered digest(const Session& session, std::vector<std::string>& notes) {
  Ordered benchmarks = Ordered::object();
  for (const Run& run : session.runs) {
    if (const std::string why = unfit(run); !why.empty()) {
      notes.push_back(fmt::format("{}: not recorded: {}", run.name, why));
      continue;
    }
    benchmarks[run.name] = digest(run, session.metrics);
  }
  const Facts& facts = session.facts;
  return {{"session", session.id},
          {"date", facts.date},
          {"commit", facts.commit},
          {"dirty", facts.dirty},
          {"build_id", facts.build_id},
          {"build_type", facts.build_type},
          {"compiler", facts.compiler},
          {"seed", facts.seed},
          {"settings_hash", facts.settings_hash},
          {"benchmarks", std::move(benchmarks)}};
}

Ordered metrics_json(const MetricsTable& table) {
  Ordered metrics = Ordered::object();
  for (const auto& [metric, spec] : table) {
    metrics[metric] = {{"unit", spec.unit},
                       {"better", name(spec.better)},
                       {"class", name(spec.klass)},
                       {"min_effect", spec.min_effect},
                       {"tolerance", spec.tolerance}};
  }
  return metrics;
}

Error bad(const std::string& file, const std::string& why) {
  return Error{Errc::kInvalidArgument, fmt::format("{}: {}", file, why), {}};
}

std::string text_at(const json& object, const char* key) {
  return object.is_object() ? object.value(key, std::string()) : std::string();
}

Run read_run(const std::string& name, const json& entry) {
  Run run;
  run.name = name;
  const std::string resource = text_at(entry, "resource");
  for (const Resource known : {Resource::kCpu, Resource::kIo, Resource::kDb}) {
    if (resource == compare::name(known)) run.resource = known;
  }
  run.gate = entry.value("gate", true);
  for (const json& invariant : entry.value("invariants", json::array())) {
    run.invariants[invariant.get<std::string>()] = {};
  }
  for (const auto& [metric, digest] : entry.at("metrics").items()) {
    run.samples[metric] = {digest.at("statistic").get<double>()};
  }
  return run;
}

Session read_session(const json& entry, const Session& common) {
  Session session = common;
  session.id = text_at(entry, "session");
  session.facts.date = text_at(entry, "date");
  session.facts.commit = text_at(entry, "commit");
  session.facts.dirty = entry.value("dirty", false);
  session.facts.build_id = text_at(entry, "build_id");
  session.facts.build_type = text_at(entry, "build_type");
  session.facts.compiler = text_at(entry, "compiler");
  session.facts.seed = text_at(entry, "seed");
  session.facts.settings_hash = text_at(entry, "settings_hash");
  for (const auto& [benchmark, digest] : entry.at("benchmarks").items()) {
    session.runs.push_back(read_run(benchmark, digest));
  }
  return session;
}

/// Parses and checks the schema. May throw json::exception; its callers turn that into an error.
Result<json> parse_baseline(const std::string& text, const std::string& file) {
  json document = parse_json(text);
  const json schema = document.is_object() ? document.value(kSchemaKey, json()) : json();
  if (!schema.is_number_integer()) {
    return fail(bad(file, fmt::format("no baseline file: no number under {}", kSchemaKey)));
  }
  if (schema.get<std::int64_t>() > kBaselineSchema) {
    return fail(bad(file, fmt::format("{} is {}, written by a newer plimsoll-compare; this one "
                                      "reads up to {}",
                                      kSchemaKey, json_text(schema), kBaselineSchema)));
  }
  return document;
}

/// Runs `work` and turns what the JSON library throws into an error with file and position.
template <class Work>
auto guarded(const std::string& text, const std::string& file, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    return fail(bad(file, fmt::format("{}: not JSON, or cut short", position_in(text, offset))));
  } catch (const json::exception& error) {
    return fail(bad(file, fmt::format("not as a baseline file should be: {}", error.what())));
  }
}

}  // namespace

bool is_baseline(std::string_view text) {
  // The key is the first that `append` writes, so a large result file is not searched to its end.
  return text.substr(0, 128).find(kSchemaKey) != std::string_view::npos;
}

Result<std::vector<Session>> read_baseline(const std::string& text, const std::string& file) {
  return guarded(text, file, [&]() -> Result<std::vector<Session>> {
    const auto document = parse_baseline(text, file);
    if (!document) return fail(document.error());
    auto metrics = read_metrics(document->at("metrics"));
    if (!metrics) return fail(bad(file, metrics.error().message));
    Session common;
    common.file = file;
    common.facts.ours = true;
    common.facts.group = text_at(*document, "group");
    common.facts.machine_class = text_at(*document, "machine_class");
    common.facts.size = text_at(*document, "size");
    common.metrics = std::move(*metrics);
    std::vector<Session> sessions;
    for (const json& entry : document->at("sessions")) {
      sessions.push_back(read_session(entry, common));
    }
    return sessions;
  });
}

Result<Recorded> append(const std::string& old_text, std::span<const Session> sessions) {
  Recorded recorded;
  Ordered kept = Ordered::array();
  std::set<std::string> known;
  if (!old_text.empty()) {
    // Sessions are kept as they are written, whatever a later version may have added to them.
    auto old = guarded(old_text, "the baseline", [&]() -> Result<Ordered> {
      const auto checked = parse_baseline(old_text, "the baseline");
      if (!checked) return fail(checked.error());
      return Ordered::parse(old_text).at("sessions");
    });
    if (!old) return fail(std::move(old.error()));
    kept = std::move(*old);
    for (const Ordered& entry : kept) known.insert(entry.value("session", std::string()));
  }
  for (const Session& session : sessions) {
    if (const std::string why = unfit(session); !why.empty()) {
      return fail(bad(session.file, why));
    }
    if (!known.insert(session.id).second) {
      recorded.notes.push_back(
          fmt::format("{}: session {} is recorded already", session.file, session.id));
      ++recorded.known;
      continue;
    }
    Ordered entry = digest(session, recorded.notes);
    if (entry["benchmarks"].empty()) {
      recorded.notes.push_back(fmt::format("{}: no VALID run to record", session.file));
      continue;
    }
    kept.push_back(std::move(entry));
    ++recorded.sessions;
  }
  const Facts& facts = sessions.back().facts;
  recorded.text = json_text({{kSchemaKey, kBaselineSchema},
                             {"group", facts.group},
                             {"machine_class", facts.machine_class},
                             {"size", facts.size},
                             {"metrics", metrics_json(sessions.back().metrics)},
                             {"sessions", std::move(kept)}});
  return recorded;
}

}  // namespace plimsoll::compare
