#include "compare/cli/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "compare/history/baseline.hpp"
#include "compare/read/reader.hpp"
#include "lib/core/nearest.hpp"

namespace plimsoll::compare {
namespace {

namespace fs = std::filesystem;

std::set<std::string> groups_of(const std::vector<Session>& sessions) {
  std::set<std::string> groups;
  for (const Session& session : sessions) groups.insert(session.facts.group);
  return groups;
}

bool all_ours(const std::vector<Session>& sessions) {
  return std::all_of(sessions.begin(), sessions.end(),
                     [](const Session& session) { return session.facts.ours; });
}

/// Two files of ours of different groups are two new results, as a directory of them would be.
bool are_old_and_new(const std::vector<Session>& first, const std::vector<Session>& second) {
  if (!all_ours(first) || !all_ours(second)) return true;
  const auto groups = groups_of(second);
  const auto old_groups = groups_of(first);
  return std::any_of(old_groups.begin(), old_groups.end(),
                     [&](const std::string& group) { return groups.contains(group); });
}

/// One --baseline: a tree, a baseline file or result files.
Result<void> read_baseline_source(const std::string& path, bool& results, Sources& sources) {
  std::error_code error;
  if (fs::is_directory(path, error) && !has_json(path)) {
    if (!is_baseline_tree(path)) {
      return fail(
          Errc::kInvalidArgument,
          fmt::format("{}: no tree of baselines: no <machine class>/<size>/<group>.json that "
                      "can be read is below it; plimsoll-compare record RESULTS --to {} "
                      "begins one",
                      path, path));
    }
    sources.roots.emplace_back(path);
    return {};
  }
  const std::vector<std::string> paths = {path};
  const auto files = expand(paths);
  if (!files) return fail(files.error());
  for (const std::string& file : *files) {
    auto text = read_bytes(file);
    if (!text) return fail(std::move(text.error()));
    const bool stored = is_baseline(*text);
    auto sessions = stored ? read_baseline(*text, file) : read_text(std::move(*text), file);
    if (!sessions) return fail(std::move(sessions.error()));
    results = results || !stored;
    for (Session& session : *sessions) sources.before.push_back(std::move(session));
  }
  return {};
}

Result<void> read_retired(const CheckOptions& options, Sources& sources) {
  std::vector<fs::path> lists;
  if (!options.retired.empty()) {
    lists.emplace_back(options.retired);
  } else {
    for (const fs::path& root : sources.roots) {
      std::error_code error;
      if (fs::is_regular_file(root / "retired", error)) lists.push_back(root / "retired");
    }
  }
  for (const fs::path& list : lists) {
    const auto text = read_bytes(list);
    if (!text) return fail(text.error());
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      // '#' begins a comment only at the start or behind a space: "name#2" is a benchmark's name.
      const std::size_t comment = line.starts_with("#") ? 0 : line.find(" #");
      line.resize(std::min(comment, line.size()));
      const std::size_t begin = line.find_first_not_of(" \t\r");
      if (begin == std::string::npos) continue;
      sources.retired.insert(line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1));
    }
  }
  return {};
}

std::set<std::string> known_metrics(const std::vector<Session>& sessions) {
  std::set<std::string> names;
  for (const Session& session : sessions) {
    for (const auto& [metric, unused] : session.metrics) names.insert(metric);
    for (const Run& run : session.runs) {
      for (const auto& [metric, unused] : run.samples) names.insert(metric);
    }
  }
  return names;
}

struct Override {
  std::string metric;
  Better better;
  std::optional<double> percent;
};

Result<Override> parse_override(const std::string& text) {
  const auto bad = [&](const std::string& why) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--metric {}: {}; as in --metric p99_us=lower:10", text, why));
  };
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return bad("no NAME=lower, higher or exact");
  std::string_view how = std::string_view(text).substr(equals + 1);
  Override parsed{text.substr(0, equals), Better::kLower, std::nullopt};
  if (const std::size_t colon = how.find(':'); colon != std::string_view::npos) {
    const std::string_view number = how.substr(colon + 1);
    double percent = 0;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), percent);
    if (error != std::errc() || end != number.data() + number.size() || !(percent >= 0) ||
        std::isinf(percent)) {
      return bad(fmt::format("'{}' is no percentage", number));
    }
    parsed.percent = percent;
    how = how.substr(0, colon);
  }
  for (const Better better : {Better::kLower, Better::kHigher, Better::kExact}) {
    parsed.better = better;
    if (how == name(better)) return parsed;
  }
  const std::vector<std::string> words = {"lower", "higher", "exact"};
  return bad(fmt::format("unknown direction '{}'; nearest: {}", how, nearest(how, words).value()));
}

/// Puts what --metric says into every table, where the judge looks it up.
Result<void> apply_overrides(const CheckOptions& options, Sources& sources) {
  std::set<std::string> known = known_metrics(sources.after);
  known.merge(known_metrics(sources.before));
  const std::vector<std::string> candidates(known.begin(), known.end());
  for (const std::string& text : options.metrics) {
    const auto wanted = parse_override(text);
    if (!wanted) return fail(wanted.error());
    if (!known.contains(wanted->metric)) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("unknown metric '{}'; nearest: {}", wanted->metric,
                              nearest(wanted->metric, candidates).value_or("none")));
    }
    for (auto* side : {&sources.after, &sources.before}) {
      for (Session& session : *side) {
        MetricSpec& spec = session.metrics[wanted->metric];
        spec.better = wanted->better;
        if (wanted->better == Better::kExact) {
          spec.klass = MetricClass::kWork;
          spec.tolerance = wanted->percent.value_or(0) / 100;
        } else {
          spec.klass = MetricClass::kTime;
          const double unstated = spec.min_effect > 0 ? spec.min_effect * 100 : 10;
          spec.min_effect = wanted->percent.value_or(unstated) / 100;
        }
      }
    }
  }
  return {};
}

/// A plain file has no machine class and no group, so no stored baseline can be found for it.
Result<void> refuse_plain(const std::vector<Session>& after) {
  for (const Session& session : after) {
    if (session.facts.ours || session.runs.empty()) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: a plain Google Benchmark file is held against an old one: "
                            "plimsoll-compare check OLD {}",
                            session.file, session.file));
  }
  return {};
}

Result<std::vector<Session>> read_paths(std::vector<std::string> paths) { return read_all(paths); }

}  // namespace

fs::path local_baselines() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
    return fs::path(state) / "plimsoll" / "baselines";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".local" / "state" / "plimsoll" / "baselines";
  }
  return {};
}

Result<Sources> read_sources(const CheckOptions& options) {
  Sources sources;
  if (options.files.size() == 2 && options.baselines.empty()) {
    auto first = read_paths({options.files[0]});
    if (!first) return fail(std::move(first.error()));
    auto second = read_paths({options.files[1]});
    if (!second) return fail(std::move(second.error()));
    sources.pair = are_old_and_new(*first, *second);
    if (sources.pair) {
      sources.before = std::move(*first);
      sources.after = std::move(*second);
    }
  }
  if (!sources.pair) {
    auto read = read_all(options.files);
    if (!read) return fail(std::move(read.error()));
    sources.after = std::move(*read);
    for (const std::string& path : options.baselines) {
      bool results = false;
      if (auto taken = read_baseline_source(path, results, sources); !taken) {
        return fail(std::move(taken.error()));
      }
      sources.pair = sources.pair || results;
    }
    if (options.baselines.empty()) sources.roots.emplace_back("baselines");
    if (sources.pair && !sources.roots.empty()) {
      return fail(Errc::kInvalidArgument,
                  "--baseline names both result files and a tree of baselines; give one kind");
    }
    if (!sources.pair) {
      if (auto ours = refuse_plain(sources.after); !ours) return fail(std::move(ours.error()));
    }
  }
  if (auto read = read_retired(options, sources); !read) return fail(std::move(read.error()));
  if (auto applied = apply_overrides(options, sources); !applied) {
    return fail(std::move(applied.error()));
  }
  return sources;
}

}  // namespace plimsoll::compare
