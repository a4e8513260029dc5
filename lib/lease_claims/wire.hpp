#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/lease_claims/lease.hpp"
#include "lib/lease_claims/statements.hpp"
#include "lib/pg/query.hpp"
#include "lib/pg/rows.hpp"

namespace plimsoll::lease {

/// Between leases and PostgreSQL's text. No I/O.

[[nodiscard]] pg::Query query_of(const Statement& statement, pg::Params params);

/// The key and token of a lease, then its fire time: $1 to $4 of Statements::fire.
[[nodiscard]] pg::Params lease_params(const Lease& lease);

/// The same of many leases, as four arrays; every element is quoted, so any tenant is safe in it.
[[nodiscard]] pg::Params batch_params(const std::vector<Lease>& leases);

/// A schedule, its fire time and its fence from the first three columns of a claim's row; nullopt
/// where the row says that nothing was claimed. Errors: kProtocol.
[[nodiscard]] Result<std::optional<Lease>> lease_of(const pg::Rows& rows, std::size_t row);

/// Microseconds since 1970. Errors: kProtocol.
[[nodiscard]] Result<Timestamp> timestamp_of(const pg::Rows& rows, std::size_t row,
                                             std::size_t column);

}  // namespace plimsoll::lease
