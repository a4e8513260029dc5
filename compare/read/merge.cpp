#include "compare/read/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "compare/read/bare_tokens.hpp"
#include "compare/read/reader.hpp"
#include "compare/read/result_handler.hpp"
#include "lib/core/json.hpp"

namespace plimsoll::compare {
namespace {

using nlohmann::json;

constexpr const char* kSessionsKey = "plimsoll_sessions";

/// Turns the markers of bare tokens into null, which is all that JSON has for them. Strings that
/// belong to Google Benchmark's own text keys stay.
void unmark(json& value) {
  static const std::set<std::string> texts = {
      "name",  "run_name",       "run_type",       "label",        "error_message",
      "big_o", "aggregate_name", "aggregate_unit", "skip_message", "time_unit"};
  for (auto& [key, member] : value.items()) {
    if (member.is_structured()) {
      unmark(member);
    } else if (member.is_string() && !texts.contains(key) &&
               marked_number(member.get_ref<const std::string&>())) {
      member = nullptr;
    }
  }
}

/// The sessions of one file as they are written: contexts, and rows by session.
struct FileSessions {
  std::map<std::string, json> contexts;
  std::map<std::string, std::vector<json>> rows;
};

std::string session_of(const json& row) {
  const auto ours = row.find("plimsoll");
  if (ours == row.end() || !ours->is_object()) return {};
  const auto session = ours->find("session");
  return session != ours->end() && session->is_string() ? session->get<std::string>()
                                                        : std::string();
}

Result<FileSessions> sessions_of(const std::string& file, std::string text,
                                 const std::vector<Session>& known) {
  FileSessions sessions;
  mark_bare_tokens(text);
  std::vector<json> rows;
  auto walked = walk_result(text, Keep::kEverything, [&](RawRow row) {
    unmark(row.fields);
    rows.push_back(std::move(row.fields));
  });
  if (!walked) return fail(walked.error().code, file + ": " + walked.error().message);
  const auto merged = walked->context.find(kSessionsKey);
  if (walked->context.is_object() && merged != walked->context.end()) {
    for (const auto& [id, context] : merged->items()) sessions.contexts[id] = context;
    for (json& row : rows) sessions.rows[session_of(row)].push_back(std::move(row));
  } else {
    const std::string& id = known.front().id;
    sessions.contexts[id] = walked->context.is_object() ? walked->context : json::object();
    sessions.rows[id] = std::move(rows);
  }
  return sessions;
}

}  // namespace

Result<Merged> merge(std::span<const std::string> paths) {
  const auto files = expand(paths);
  if (!files) return fail(files.error());
  Merged merged;
  json contexts = json::object();
  json all_rows = json::array();
  json first_context;
  for (const std::string& file : *files) {
    auto text = read_bytes(file);
    if (!text) return fail(std::move(text.error()));
    // Reading it as a check would read it finds every fault that would come up later.
    const auto known = read_text(*text, file);
    if (!known) return fail(known.error());
    if (std::all_of(known->begin(), known->end(),
                    [](const Session& session) { return session.runs.empty(); })) {
      return fail(Errc::kInvalidArgument, fmt::format("{}: nothing was measured", file));
    }
    auto sessions = sessions_of(file, std::move(*text), *known);
    if (!sessions) return fail(std::move(sessions.error()));
    for (auto& [id, context] : sessions->contexts) {
      if (contexts.contains(id)) {
        merged.notes.push_back(fmt::format("{}: session {} is there already", file, id));
        continue;
      }
      if (first_context.is_null()) first_context = context;
      contexts[id] = std::move(context);
      ++merged.sessions;
      for (json& row : sessions->rows[id]) {
        json& ours = row["plimsoll"];
        if (!ours.is_object()) ours = json::object();
        ours["session"] = id;
        all_rows.push_back(std::move(row));
      }
    }
  }
  // What other readers of the schema look for; ours looks into the sessions.
  first_context.erase("plimsoll");
  first_context[kSessionsKey] = std::move(contexts);
  merged.text =
      json_text(json{{"context", std::move(first_context)}, {"benchmarks", std::move(all_rows)}},
                1) +
      "\n";
  return merged;
}

}  // namespace plimsoll::compare
