#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "compare/cli/verbs.hpp"
#include "compare/model.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::compare {

/// What a check works on, read and sorted.
struct Sources {
  bool pair = false;  ///< Two sets of result files; else new results against baselines.
  std::vector<Session> after;
  std::vector<Session> before;               ///< From files that were named.
  std::vector<std::filesystem::path> roots;  ///< Trees of baselines.
  std::set<std::string, std::less<>> retired;
};

/// Reads what the options name and finds out which of the two uses of `check` was meant:
///  - with --baseline, FILES are new; old result files make it a pair, anything else a history;
///  - two FILES without --baseline are OLD and NEW, unless both are ours and of different groups;
///  - else FILES are new and held against baselines/.
/// Errors: as read_all; kInvalidArgument for plain files without an old side and for a bad
/// --metric.
[[nodiscard]] Result<Sources> read_sources(const CheckOptions& options);

/// $XDG_STATE_HOME/plimsoll/baselines, else ~/.local/state/plimsoll/baselines; empty where neither
/// variable is set. First times of a machine class without baselines go there.
[[nodiscard]] std::filesystem::path local_baselines();

}  // namespace plimsoll::compare
