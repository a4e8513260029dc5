#include <nlohmann/json.hpp>

#include "compare/render/json_text.hpp"
#include "compare/render/report.hpp"

namespace plimsoll::compare {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kCheckSchema = 1;

Json finding_json(const Finding& found) {
  return {{"group", found.group},
          {"benchmark", found.benchmark},
          {"metric", found.metric},
          {"unit", found.unit},
          {"class", name(found.klass)},
          {"verdict", name(found.verdict)},
          {"reason", name(found.reason)},
          {"exit", static_cast<int>(exit_of(found.verdict))},
          {"before", finite_or_null(found.before)},
          {"before_n", found.before_n},
          {"after", finite_or_null(found.after)},
          {"after_n", found.after_n},
          {"ratio", finite_or_null(found.ratio)},
          {"allowed", finite_or_null(found.allowed)},
          {"p", finite_or_null(found.p)},
          {"pairs", found.pairs},
          {"pair_ratio", finite_or_null(found.pair_ratio)},
          {"pair_low", finite_or_null(found.pair_low)},
          {"pair_high", finite_or_null(found.pair_high)},
          {"pair_p", finite_or_null(found.pair_p)},
          {"detail", found.detail}};
}

Json sources_json(const std::vector<Session>& sessions) {
  Json sources = Json::array();
  for (const Session& session : sessions) {
    sources.push_back({{"file", session.file},
                       {"session", session.id},
                       {"group", session.facts.group},
                       {"size", session.facts.size},
                       {"date", session.facts.date},
                       {"commit", session.facts.commit},
                       {"build_id", session.facts.build_id},
                       {"machine_class", session.facts.machine_class},
                       {"settings_hash", session.facts.settings_hash}});
  }
  return sources;
}

}  // namespace

std::string render_json(const Report& report) {
  Json counts = Json::object();
  for (std::size_t i = 0; i < kVerdicts; ++i) counts[name(static_cast<Verdict>(i))] = 0;
  Json findings = Json::array();
  for (const Finding& found : report.findings) {
    Json& count = counts[name(found.verdict)];
    count = count.get<std::size_t>() + 1;
    findings.push_back(finding_json(found));
  }
  const Policy& policy = report.policy;
  return json_text({{"plimsoll_check", kCheckSchema},
                    {"heading", report.heading},
                    {"verdict", word(report.exit)},
                    {"exit", static_cast<int>(report.exit)},
                    {"policy",
                     {{"outright", policy.outright},
                      {"alpha", policy.alpha},
                      {"test_sessions", policy.test_sessions},
                      {"test_repetitions", policy.test_repetitions},
                      {"screen_sessions", policy.screen_sessions},
                      {"window", policy.window}}},
                    {"counts", std::move(counts)},
                    {"notes", report.notes},
                    {"findings", std::move(findings)},
                    {"before", sources_json(report.before)},
                    {"after", sources_json(report.after)}});
}

}  // namespace plimsoll::compare
