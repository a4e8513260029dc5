#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "compare/cli/confirm.hpp"
#include "compare/cli/sources.hpp"
#include "compare/cli/verbs.hpp"
#include "compare/decide/decide.hpp"
#include "compare/history/baseline.hpp"
#include "compare/render/report.hpp"

namespace plimsoll::compare {
namespace {

namespace fs = std::filesystem;

/// One group's question, and whether its times would be the first of their machine class.
struct Case {
  Question question;
  bool first_of_class = false;
};

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Case pair_case(const Sources& sources, const CheckOptions& options) {
  Case made;
  made.question.kind = Question::Kind::kPair;
  made.question.before = sources.before;
  made.question.after = sources.after;
  made.question.retired = sources.retired;
  made.question.interleaved = options.interleaved;
  return made;
}

/// One class and size a group: anything else would compare what was measured differently.
Result<void> same_kind(const std::vector<Session>& sessions) {
  for (const Session& session : sessions) {
    const Facts& first = sessions.front().facts;
    const Facts& other = session.facts;
    if (first.machine_class == other.machine_class && first.size == other.size &&
        first.settings_hash == other.settings_hash) {
      continue;
    }
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} and {} are of one group but of two machine classes, sizes or server "
                    "settings; check them apart",
                    sessions.front().file, session.file));
  }
  return {};
}

Result<Case> history_case(const Sources& sources, std::vector<Session> after) {
  if (auto same = same_kind(after); !same) return fail(std::move(same.error()));
  const Facts facts = after.front().facts;
  Case made;
  made.question.after = std::move(after);
  made.question.retired = sources.retired;
  if (!facts.ours) return made;  // An empty file: the judge says so.
  auto found = find_baselines(sources.roots, facts);
  if (!found) return fail(std::move(found.error()));
  for (const Session& session : sources.before) {
    if (session.facts.group != facts.group || session.facts.size != facts.size) continue;
    const bool same = session.facts.machine_class == facts.machine_class &&
                      session.facts.settings_hash == facts.settings_hash;
    (same ? found->same : found->elsewhere).push_back(session);
  }
  if (found->same.empty()) {
    const std::vector<fs::path> local = {local_baselines()};
    auto own = find_baselines(local, facts);
    if (!own) return fail(std::move(own.error()));
    made.first_of_class = own->same.empty();
    found->same = std::move(own->same);
  }
  made.question.before = std::move(found->same);
  made.question.elsewhere = std::move(found->elsewhere);
  return made;
}

Result<std::vector<Case>> cases_of(const Sources& sources, const CheckOptions& options) {
  if (sources.pair) return std::vector<Case>{pair_case(sources, options)};
  std::map<std::string, std::vector<Session>> groups;
  for (const Session& session : sources.after) groups[session.facts.group].push_back(session);
  std::vector<Case> cases;
  for (auto& [group, sessions] : groups) {
    auto made = history_case(sources, std::move(sessions));
    if (!made) return fail(std::move(made.error()));
    cases.push_back(std::move(*made));
  }
  return cases;
}

/// The suspects of a question that an A/B could settle: those of our own groups.
void collect_suspects(const Question& question, const Decision& decision,
                      std::vector<Suspect>& into) {
  for (const std::string& benchmark : suspects(decision)) {
    for (const Session& session : question.after) {
      const bool has = std::any_of(session.runs.begin(), session.runs.end(),
                                   [&](const Run& run) { return run.name == benchmark; });
      if (!has || !session.facts.ours) continue;
      Suspect suspect{session.facts.group, benchmark, session.facts.size, "",
                      session.facts.build_id};
      if (!question.before.empty()) {
        const Facts& newest = question.before.back().facts;
        // What was built from uncommitted changes is not what its commit would build.
        if (!newest.dirty && newest.commit != "unknown") suspect.baseline_commit = newest.commit;
      }
      into.push_back(std::move(suspect));
      break;
    }
  }
}

std::string heading(const Sources& sources, const std::vector<Case>& cases) {
  if (sources.pair) {
    return fmt::format("check: {} against {}", plural(sources.after.size(), "new session"),
                       plural(sources.before.size(), "old one"));
  }
  std::size_t recorded = 0;
  for (const Case& each : cases) recorded += each.question.before.size();
  const Facts& facts = sources.after.front().facts;
  return fmt::format("check: {} against {} ({}, {})", plural(sources.after.size(), "new session"),
                     plural(recorded, "recorded one"),
                     facts.machine_class.empty() ? "no machine class" : facts.machine_class,
                     facts.size.empty() ? "no size" : facts.size);
}

/// Times of a machine class that nobody has measured yet become its baseline, outside of the
/// repository: one line, and no failure.
void keep_first_times(const Case& made, const Decision& decision, Report& report) {
  const Facts& facts = made.question.after.front().facts;
  if (!made.first_of_class || !facts.ours) return;
  const std::string what = fmt::format(
      "{}: no baseline for machine class {} ({}) and its server "
      "settings",
      facts.group, facts.machine_class, facts.size);
  if (decision.exit != Exit::kOk) {
    report.notes.push_back(what + "; not kept as the first one, since the check failed");
    return;
  }
  const fs::path root = local_baselines();
  if (root.empty()) {
    report.notes.push_back(what + "; neither XDG_STATE_HOME nor HOME is set, so none was kept");
    return;
  }
  const auto recorded = record(root, made.question.after);
  if (!recorded) {
    report.notes.push_back(fmt::format("{}; not kept: {}", what, recorded.error().message));
  } else if (recorded->added == 0) {
    report.notes.push_back(what + "; not kept: no VALID run");
  } else {
    report.notes.push_back(fmt::format("{}; kept as the first one under {}", what, root.string()));
  }
}

void note_issues(const std::vector<Session>& sessions, Report& report) {
  for (const Session& session : sessions) {
    if (session.runs.empty()) continue;  // The finding says it.
    for (const std::string& issue : session.issues) {
      report.notes.push_back(fmt::format("{}: {}", session.file, issue));
    }
    for (const Run& run : session.runs) {
      for (const std::string& issue : run.issues) {
        report.notes.push_back(fmt::format("{}: {}: {}", session.file, run.name, issue));
      }
    }
  }
}

}  // namespace

int check_main(const CheckOptions& options) {
  if (auto base = check_base(options); !base) return usage_error("check", base.error().message);
  auto sources = read_sources(options);
  if (!sources) return usage_error("check", sources.error().message);
  auto cases = cases_of(*sources, options);
  if (!cases) return usage_error("check", cases.error().message);

  Report report;
  report.heading = heading(*sources, *cases);
  note_issues(sources->before, report);
  note_issues(sources->after, report);
  std::vector<Suspect> doubtful;
  std::vector<Decision> decisions;
  for (const Case& each : *cases) {
    decisions.push_back(decide(each.question));
    collect_suspects(each.question, decisions.back(), doubtful);
  }
  if (options.ab == "auto" && !doubtful.empty()) {
    auto confirmed = confirm(doubtful, options);
    if (!confirmed) return usage_error("check", confirmed.error().message);
    report.notes.insert(report.notes.end(), confirmed->notes.begin(), confirmed->notes.end());
    for (std::size_t i = 0; i < cases->size(); ++i) {
      (*cases)[i].question.confirmations = confirmed->confirmations;
      decisions[i] = decide((*cases)[i].question);
    }
  }
  for (std::size_t i = 0; i < cases->size(); ++i) {
    const Case& each = (*cases)[i];
    add(decisions[i], report);
    report.policy = each.question.policy;
    report.before.insert(report.before.end(), each.question.before.begin(),
                         each.question.before.end());
    keep_first_times(each, decisions[i], report);
  }
  report.after = std::move(sources->after);
  if (!options.json.empty()) {
    if (auto written = replace_file(options.json, render_json(report)); !written) {
      return usage_error("check", written.error().message);
    }
  }
  if (!print(render_text(report, {wants_colour(), options.all}))) {
    return usage_error("check", "standard output cannot be written");
  }
  return static_cast<int>(report.exit);
}

}  // namespace plimsoll::compare
