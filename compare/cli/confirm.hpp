#pragma once

#include <string>
#include <vector>

#include "compare/cli/verbs.hpp"
#include "compare/decide/verdict.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::compare {

/// A benchmark that looks slower, and where its baseline comes from.
struct Suspect {
  std::string group;
  std::string benchmark;
  std::string size;
  std::string baseline_commit;  ///< Empty where the baseline names none that could be built.
  std::string build_id;         ///< Of the binary that made the new result.
};

/// What re-measuring brought.
struct Confirmed {
  std::vector<Confirmation> confirmations;
  std::vector<std::string> notes;
};

/// Whether the base that the options name exists. Asked before anything is judged, so that a
/// mistyped one does not stay hidden until there is a suspect. Errors: kNotFound.
[[nodiscard]] Result<void> check_base(const CheckOptions& options);

/// Re-measures suspects in fresh interleaved pairs against the base that the options name, else
/// against the commit of their baseline. What cannot be re-measured is a note and stays a suspect.
/// Errors: a base that was asked for and does not exist.
[[nodiscard]] Result<Confirmed> confirm(const std::vector<Suspect>& suspects,
                                        const CheckOptions& options);

}  // namespace plimsoll::compare
