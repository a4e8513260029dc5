#include "compare/read/session_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "lib/core/json.hpp"

namespace plimsoll::compare {
namespace {

using nlohmann::json;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kClockEffect = 0.05;      // Where our own table names a time without min_effect.
constexpr double kOtherTimeEffect = 0.10;  // Percentiles and rates move more than the clock.

const json& at(const json& object, std::string_view key) {
  static const json null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

std::string text_at(const json& object, std::string_view key) {
  const json& value = at(object, key);
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? json_text(value) : std::string();
}

template <class Enum>
Result<Enum> word(const json& entry, const char* key, const std::string& metric,
                  std::initializer_list<Enum> allowed) {
  const std::string text = text_at(entry, key);
  std::string words;
  for (const Enum value : allowed) {
    if (text == name(value)) return value;
    words += (words.empty() ? "" : ", ") + std::string(name(value));
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("metrics table: {}.{} is '{}'; one of: {}", metric, key, text, words));
}

Facts read_facts(const json& context) {
  Facts facts;
  facts.date = text_at(context, "date");
  facts.executable = text_at(context, "executable");
  const json& ours = at(context, "plimsoll");
  facts.ours = ours.is_object();
  if (!facts.ours) return facts;
  const json& build = at(ours, "build");
  facts.group = text_at(ours, "group");
  facts.size = text_at(ours, "size");
  facts.seed = text_at(ours, "seed");
  facts.build_type = text_at(build, "type");
  facts.compiler = text_at(build, "compiler");
  facts.flags = text_at(build, "flags");
  facts.commit = text_at(build, "commit");
  const json& complete = at(ours, "complete");
  facts.complete = !complete.is_boolean() || complete.get<bool>();
  facts.dirty = at(build, "dirty").is_boolean() && at(build, "dirty").get<bool>();
  facts.build_id = text_at(build, "build_id");
  facts.machine_class = text_at(at(ours, "machine"), "class");
  const json& infra = at(ours, "infra");
  if (infra.is_object()) {
    for (const auto& [server, entry] : infra.items()) {
      const std::string hash = text_at(entry, "settings_hash");
      if (hash.empty()) continue;
      facts.settings_hash += (facts.settings_hash.empty() ? "" : ";") + server + "=" + hash;
    }
  }
  return facts;
}

Result<Session> open_session(const json& context, const std::string& file,
                             const std::string& plain_id) {
  Session session;
  session.file = file;
  session.facts = read_facts(context);
  const json& ours = at(context, "plimsoll");
  if (!session.facts.ours) {
    if (!ours.is_null()) session.issues.push_back("context.plimsoll is not ours; read as plain");
    session.id = plain_id;
    session.metrics = default_metrics();
    return session;
  }
  const json& schema = at(ours, "schema");
  if (!schema.is_number_integer() || schema.get<std::int64_t>() > kResultSchema) {
    return fail(Errc::kInvalidArgument,
                fmt::format("context.plimsoll.schema is {}; this plimsoll-compare reads up to {}",
                            json_text(schema), kResultSchema));
  }
  session.id = text_at(ours, "session");
  if (session.id.empty()) session.id = plain_id;
  auto metrics = read_metrics(at(ours, "metrics"));
  if (!metrics) return fail(std::move(metrics.error()));
  session.metrics = std::move(*metrics);
  return session;
}

/// Google Benchmark names a benchmark by its clock: /manual_time and /real_time are gated by that
/// clock alone, since cpu_time then holds only what the measuring thread did.
Resource plain_resource(std::string_view name) {
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t slash = std::min(name.find('/', from), name.size());
    const std::string_view part = name.substr(from, slash - from);
    if (part == "manual_time" || part == "real_time") return Resource::kIo;
    from = slash + 1;
  }
  return Resource::kUnknown;
}

bool is_broken(const Invariant& invariant) { return !(invariant.value == invariant.expected); }

/// Adds a row's facts to its run, the worst of the repetitions winning.
void absorb(const Row& row, Run& run) {
  run.resource = row.resource.value_or(run.resource);
  run.gate = row.gate.value_or(run.gate);
  if (run.validity == Validity::kValid) run.validity = row.validity;
  for (const std::string& reason : row.validity_reasons) {
    if (std::find(run.validity_reasons.begin(), run.validity_reasons.end(), reason) ==
        run.validity_reasons.end()) {
      run.validity_reasons.push_back(reason);
    }
  }
  for (const auto& [key, invariant] : row.invariants) {
    const auto [found, added] = run.invariants.try_emplace(key, invariant);
    if (!added && is_broken(invariant) && !is_broken(found->second)) found->second = invariant;
  }
  for (const std::string& issue : row.issues) {
    if (std::find(run.issues.begin(), run.issues.end(), issue) == run.issues.end()) {
      run.issues.push_back(issue);
    }
  }
}

Run make_run(std::string name, const std::vector<const Row*>& rows) {
  Run run;
  run.resource = plain_resource(name);
  run.name = std::move(name);
  std::vector<const Row*> measured;
  for (const Row* row : rows) {
    absorb(*row, run);
    if (row->kind == RowKind::kMeasured) measured.push_back(row);
    const std::string message = row->message.empty() ? "no message" : row->message;
    if (row->kind == RowKind::kFailed) run.errors.push_back(message);
    if (row->kind == RowKind::kSkipped) run.skips.push_back(message);
  }
  run.aggregates_only = measured.empty() && run.errors.empty() && run.skips.empty();
  // Shuffled repetitions come back into their order; rows without an index keep the file's.
  std::stable_sort(measured.begin(), measured.end(), [](const Row* a, const Row* b) {
    return a->repetition.value_or(0) < b->repetition.value_or(0);
  });
  std::set<std::int64_t> seen;
  std::map<std::string, std::size_t> present;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Row& row = *measured[i];
    if (row.repetition && !seen.insert(*row.repetition).second) {
      const std::string issue = fmt::format(
          "repetition {} comes twice: joined by hand? `plimsoll-compare merge` keeps sessions "
          "apart",
          *row.repetition);
      if (std::find(run.issues.begin(), run.issues.end(), issue) == run.issues.end()) {
        run.issues.push_back(issue);
      }
    }
    // A counter that only some repetitions have is a NaN in the others, so that it is judged.
    for (const auto& [key, value] : row.values) {
      run.samples.try_emplace(key, measured.size(), kNotANumber).first->second[i] = value;
      ++present[key];
    }
  }
  for (const auto& [key, count] : present) {
    if (count < measured.size()) run.partial.insert(key);
  }
  return run;
}

/// Random interleaving leaves one trace in a file: its benchmarks are out of the order of their
/// registration. Rows that repeat a repetition were joined by hand and prove nothing.
bool shows_interleaving(const std::vector<Row>& rows) {
  std::set<std::pair<std::pair<std::int64_t, std::int64_t>, std::int64_t>> seen;
  std::pair<std::int64_t, std::int64_t> latest{-1, -1};
  bool shuffled = false;
  for (const Row& row : rows) {
    if (!row.family || row.kind == RowKind::kAggregate || row.kind == RowKind::kFit) continue;
    if (*row.family < latest) shuffled = true;
    latest = *row.family;
    if (!seen.insert({*row.family, row.repetition.value_or(0)}).second) return false;
  }
  return shuffled;
}

/// Groups one session's rows into runs. Two families may carry one name; they stay apart by the
/// order of their registration.
void add_runs(const std::vector<Row>& rows, Session& session) {
  using Family = std::pair<std::int64_t, std::int64_t>;
  std::map<std::string, std::map<Family, std::vector<const Row*>>> by_name;
  for (const Row& row : rows) {
    if (row.kind == RowKind::kFit) continue;
    by_name[row.name][row.family.value_or(Family{0, 0})].push_back(&row);
  }
  const bool interleaved = shows_interleaving(rows);
  for (const auto& [name, families] : by_name) {
    std::size_t number = 1;
    for (const auto& [family, members] : families) {
      Run run = make_run(number == 1 ? name : fmt::format("{}#{}", name, number), members);
      run.interleaved = interleaved;
      if (families.size() > 1) {
        run.issues.push_back(fmt::format("{} benchmarks are named '{}'; told apart by order",
                                         families.size(), name));
      }
      session.runs.push_back(std::move(run));
      ++number;
    }
  }
  std::sort(session.runs.begin(), session.runs.end(),
            [](const Run& a, const Run& b) { return a.name < b.name; });
}

}  // namespace

Result<MetricsTable> read_metrics(const json& table) {
  MetricsTable metrics;
  if (!table.is_null() && !table.is_object()) {
    return fail(Errc::kInvalidArgument, "metrics table: not an object");
  }
  for (const auto& [metric, entry] : table.items()) {
    const auto better =
        word<Better>(entry, "better", metric, {Better::kLower, Better::kHigher, Better::kExact});
    if (!better) return fail(better.error());
    const auto klass = word<MetricClass>(
        entry, "class", metric,
        {MetricClass::kInvariant, MetricClass::kWork, MetricClass::kTime, MetricClass::kInfo});
    if (!klass) return fail(klass.error());
    MetricSpec spec{text_at(entry, "unit"), *better, *klass, 0, 0};
    if (spec.klass == MetricClass::kTime) {
      spec.min_effect = is_clock(metric) ? kClockEffect : kOtherTimeEffect;
    }
    for (const auto& [key, into] :
         {std::pair{"min_effect", &spec.min_effect}, std::pair{"tolerance", &spec.tolerance}}) {
      const json& number = at(entry, key);
      if (number.is_null()) continue;
      if (!number.is_number() || number.get<double>() < 0) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("metrics table: {}.{} is {}; a number from 0 on", metric, key,
                                json_text(number)));
      }
      *into = number.get<double>();
    }
    metrics.emplace(metric, std::move(spec));
  }
  for (const char* clock : {"real_time", "cpu_time"}) {
    metrics.try_emplace(clock,
                        MetricSpec{"ns", Better::kLower, MetricClass::kTime, kClockEffect, 0});
  }
  return metrics;
}

Result<std::vector<Session>> build_sessions(const json& context, std::vector<Row> rows,
                                            const std::string& file, const std::string& plain_id) {
  const json& version = at(context, "json_schema_version");
  if (version.is_number_integer() && version.get<std::int64_t>() != kGoogleSchema) {
    return fail(Errc::kInvalidArgument,
                fmt::format("json_schema_version is {}, of a newer Google Benchmark; this "
                            "plimsoll-compare reads {}",
                            json_text(version), kGoogleSchema));
  }
  const json& merged = at(context, "plimsoll_sessions");
  std::map<std::string, std::vector<Row>> by_session;
  if (merged.is_object()) {
    for (const auto& [id, unused] : merged.items()) by_session[id];
    for (Row& row : rows) by_session[row.session].push_back(std::move(row));
  } else {
    by_session[""] = std::move(rows);
  }
  std::vector<Session> sessions;
  for (const auto& [id, members] : by_session) {
    if (merged.is_object() && !merged.contains(id)) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("'{}' belongs to session '{}', which context.plimsoll_sessions does "
                              "not name",
                              members.front().name, id));
    }
    auto session = open_session(merged.is_object() ? merged[id] : context, file, plain_id);
    if (!session) return fail(std::move(session.error()));
    if (merged.is_object()) session->id = id;
    add_runs(members, *session);
    sessions.push_back(std::move(*session));
  }
  return sessions;
}

}  // namespace plimsoll::compare
