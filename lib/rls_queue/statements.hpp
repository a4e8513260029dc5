#pragma once

#include <string>
#include <string_view>

#include "lib/core/result.hpp"
#include "lib/pg/query.hpp"
#include "lib/rls_queue/identity.hpp"

namespace plimsoll::rls {

/// What the identity is called on the server: `<prefix>.tenant`, `.user`, `.roles`, `.actor`.
struct Settings {
  std::string prefix{"plimsoll"};  ///< Lower-case letters, digits and `_`, a letter first.
  bool with_actor = false;         ///< Four values a job instead of three.
};

/// The SQL around every job, in the job's own transaction. Data, so that a test can take a
/// protection out and see the harm.
struct Statements {
  /// First: all values of the identity, local to the transaction. $1 tenant, $2 user, $3 roles, and
  /// $4 actor where the settings have it. What the connection held before is never read.
  std::string stamp;
  /// Last: raises an error, which undoes the job, unless identity and role are still those of the
  /// stamp ($1 to $3 or $4 as there, then the role that logged in). Then it empties the settings of
  /// the session, whatever a function may have left in them, under the values of the transaction,
  /// which deferred triggers still see.
  std::string seal;
  bool with_actor = false;
};

/// Errors: kInvalidArgument (the prefix).
[[nodiscard]] Result<Statements> statements_for(const Settings& settings);

/// Whether a connection starts as it must: one row (the current role; whether row-level security
/// does not bind it; whether an identity is set). Errors: kInvalidArgument (the prefix).
[[nodiscard]] Result<std::string> probe_for(const Settings& settings);

/// One setting as an SQL expression, NULL when it is unset or empty. `once`: as a scalar
/// sub-select, which the planner runs once a statement (an InitPlan) and not once a row.
[[nodiscard]] std::string identity_sql(std::string_view prefix, std::string_view value,
                                       bool once = true);

/// The two statements for one job. A name is given where the connection may keep them prepared.
[[nodiscard]] pg::Query stamp_query(const Statements& statements, const Identity& identity,
                                    bool named);
[[nodiscard]] pg::Query seal_query(const Statements& statements, const Identity& identity,
                                   const std::string& role, bool named);

/// True for the error that the seal raises.
[[nodiscard]] bool is_broken_seal(const Error& error) noexcept;

}  // namespace plimsoll::rls
