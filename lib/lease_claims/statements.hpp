#pragma once

#include <string>
#include <string_view>

#include "lib/core/result.hpp"

namespace plimsoll::lease {

/// How a claim finds rows that nobody else holds. All of them decide by the same row: owner,
/// lease_until, fence.
enum class Subject {
  kSkipLocked,       ///< One row a claim: FOR UPDATE SKIP LOCKED LIMIT 1.
  kSkipLockedBatch,  ///< The same for up to kMaxBatch rows in one statement.
  /// Transaction-level advisory locks instead of row locks, one per candidate, at most
  /// kMaxAdvisoryBatch a claim: the server's lock table has room for max_locks_per_transaction (64)
  /// times max_connections, for everybody together.
  kAdvisory,
  kUpdateReturning,  ///< Compare and set: read candidates without a lock, update where the fence is
                     ///< still the same.
};

/// "skip_locked", as in the names of the benchmarks.
[[nodiscard]] std::string_view name(Subject subject) noexcept;

/// SQL and the name under which a connection prepares it. The name holds a hash of the text, so
/// that two schemas, or two versions of a statement, never meet under one name on one connection.
struct Statement {
  std::string sql;
  std::string name;
};

/// The whole SQL of one subject in one schema. Data, so that a test can take a protection out and
/// see the harm.
struct Statements {
  Statement claim;  ///< $1 tenant, $2 owner, $3 ttl in ms, then $4 limit unless one row, $5 window
                    ///< for CAS.
  Statement renew;  ///< $1 tenant, $2 schedule, $3 fence, $4 ttl in ms. One row, or none when lost.
  Statement release;  ///< $1 tenant, $2 schedule, $3 fence.
  Statement
      fire;  ///< $1 tenant, $2 schedule, $3 fence, $4 fire time in us. (next fire, fires inserted)
  Statement explain;      ///< As fire. Why a write found no row; only sent after it did.
  Statement renew_all;    ///< $1 tenants, $2 schedules, $3 fences, $4 ttl in ms. (tenant, schedule)
                          ///< of the rows held.
  Statement release_all;  ///< $1 to $3 as renew_all.
  Statement fire_all;     ///< $1 to $3, $4 fire times in us. (tenant, schedule, false) of the rows
                          ///< moved, (.., true) of the fires inserted.
  Statement explain_all;  ///< As fire_all. (tenant, schedule) of the fires that these very leases
                          ///< recorded before.
  Statement due;          ///< $1 tenant, $2 limit.
  Statement claim_fair;   ///< $1 after tenant, $2 owner, $3 ttl in ms, $4 limit, $5 a tenant's
                          ///< share, $6 tenants.
  std::size_t max_batch = 1;
  bool optimistic =
      false;  ///< A claim may lose every candidate although rows are due, and is then tried again.
};

/// `schema` as an SQL identifier, quoted. Errors: kInvalidArgument (empty, over 63 bytes, NUL).
[[nodiscard]] Result<std::string> quoted_identifier(std::string_view schema);

/// Errors: as quoted_identifier.
[[nodiscard]] Result<Statements> statements_for(Subject subject, std::string_view schema);

/// Gives `sql` its name: "lease_<operation>_<hash>".
[[nodiscard]] Statement named(std::string_view operation, std::string sql);

}  // namespace plimsoll::lease
