#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::compare {

/// One result file that holds the sessions of several, told apart: every row's `plimsoll.session`
/// names its session, and `context.plimsoll_sessions` holds each session's context. It is Google
/// Benchmark's schema, valid JSON (what was NaN is null), and read_text reads the same sessions out
/// of it. A session that is given twice is taken once; `notes` says so.
struct Merged {
  std::string text;
  std::size_t sessions = 0;
  std::vector<std::string> notes;
};

/// Errors: as read_all; kInvalidArgument for a file without a row.
[[nodiscard]] Result<Merged> merge(std::span<const std::string> paths);

}  // namespace plimsoll::compare
