#pragma once

#include <string>
#include <string_view>

namespace plimsoll::bench {

/// The counts by which the cases judge, as SQL for a connection that sees every tenant, with the
/// group's schema as its search path. audit_pgtest.cpp turns each of them red.

/// Rows that a job saw which are not the tenant's as whom it was submitted.
inline constexpr std::string_view kForeignSeen =
    "SELECT coalesce(sum(rows), 0)::bigint FROM seen WHERE saw_tenant <> as_tenant";

/// Notes that were last written as another tenant than their own.
inline constexpr std::string_view kForeignWrites =
    "SELECT count(*) FROM notes WHERE author IS DISTINCT FROM tenant";

/// Writes of all jobs.
inline constexpr std::string_view kWritesDone =
    "SELECT coalesce(sum(version), 0)::bigint FROM notes";

/// Jobs of one tenant's caller that ran before one that was submitted earlier.
inline constexpr std::string_view kOutOfOrder =
    "SELECT count(*) FROM (SELECT n, lag(n) OVER (PARTITION BY tenant, caller ORDER BY seq) AS "
    "before FROM log) each WHERE n < before";
inline constexpr std::string_view kLogged = "SELECT count(*) FROM log";

/// For `Queue::inspect`: 1 where an identity is set although no job runs.
inline constexpr std::string_view kIdentityLeft =
    "SELECT (concat(current_setting('plimsoll.tenant', true), current_setting('plimsoll.user', "
    "true), "
    "current_setting('plimsoll.roles', true), current_setting('plimsoll.actor', true)) <> '')::int";

}  // namespace plimsoll::bench
