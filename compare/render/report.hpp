#pragma once

#include <string>
#include <vector>

#include "compare/decide/decide.hpp"
#include "compare/model.hpp"

namespace plimsoll::compare {

/// What a check has to say: decisions of one or several groups, and where their numbers came from.
struct Report {
  std::string heading;             ///< One line: what was held against what.
  std::vector<Finding> findings;   ///< By benchmark, then metric.
  std::vector<std::string> notes;  ///< One line each, in the order of happening.
  Policy policy;
  std::vector<Session> before;  ///< For the list of sources; the runs are not looked at.
  std::vector<Session> after;
  Exit exit = Exit::kOk;
};

/// Adds a decision, keeping the order and the graver exit.
void add(const Decision& decision, Report& report);

/// How a report is set.
struct TextStyle {
  bool colour = false;
  bool everything = false;  ///< Also what did not change.
};

/// For a person with ten seconds: a table of what changed or failed, the counts, and the verdict in
/// the last line. Equal reports give equal bytes.
[[nodiscard]] std::string render_text(const Report& report, const TextStyle& style);

/// For programs: every finding with its reason code and every number that went into it. The
/// object's `plimsoll_check` is the version of what docs/compare.md describes. Equal reports give
/// equal bytes.
[[nodiscard]] std::string render_json(const Report& report);

/// The exit in a word: "ok", "regression", "inconclusive", "incomplete", "broken".
[[nodiscard]] std::string_view word(Exit exit) noexcept;

/// A value of a metric for people, with its unit: "1.25 us", "4.50M/s", "3".
[[nodiscard]] std::string format_value(double value, std::string_view unit);

}  // namespace plimsoll::compare
