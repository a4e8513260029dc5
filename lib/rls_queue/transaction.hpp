#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/query.hpp"
#include "lib/pg/rows.hpp"
#include "lib/rls_queue/job.hpp"
#include "lib/rls_queue/statements.hpp"

namespace plimsoll::rls {

// What a job is on the wire, and what the answers mean. No I/O.

using Answers = std::vector<pg::Rows>;  ///< One for each statement of the job.

/// Holds a job against the limits, and cuts off blanks and comments before its statements, since
/// whether a cancelled neighbour can be repeated is told by the first word (pg::is_repeatable).
/// Errors: kInvalidArgument, which says which statement.
[[nodiscard]] Result<void> check_job(Job& job, bool with_actor, std::size_t max_bytes);

/// Stamp, statements, seal. Without `named` nothing is prepared.
[[nodiscard]] std::vector<pg::Query> group_of(const Statements& statements, Job job,
                                              const std::string& role, bool named);

/// Splits what came back for such a group. Errors: those of the first statement that failed;
/// kRefused when the job changed its identity. `sealed` is false where there is no seal.
[[nodiscard]] Result<Answers> judge(std::vector<Result<pg::Rows>> results, bool sealed);

}  // namespace plimsoll::rls
