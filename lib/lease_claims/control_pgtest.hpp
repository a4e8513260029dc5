#pragma once

#include <string>
#include <string_view>

#include "lib/lease_claims/database_pgtest.hpp"

namespace plimsoll::lease {

// The protections in the SQL that negative controls take out, by `with`.
inline constexpr std::string_view kRowLocks = "FOR UPDATE SKIP LOCKED";
inline constexpr std::string_view kSecondLook =
    " AND s.tenant = $1 AND \n  next_fire <= (SELECT clock_timestamp()) AND lease_until <= (SELECT "
    "clock_timestamp())";
inline constexpr std::string_view kClock = "AND s.lease_until > clock_timestamp()";
inline constexpr std::string_view kToken = "AND s.fence = $3";

/// `claim` with rows named by key in place of address. PostgreSQL 15 from its later minor versions
/// on also refuses an address that is no longer the row's, which would hide what a lock is for.
inline Statement by_key(const Statement& claim) {
  const bool is_direct = claim.sql.find("SELECT ctid FROM due") != std::string::npos;
  if (is_direct) {
    return with(with(claim, "SELECT ctid", "SELECT schedule"),
                "s.ctid = ", "s.tenant = $1 AND s.schedule = ");
  }
  return with(with(claim, "ctid AS spot", "schedule AS spot"),
              "s.ctid = ", "s.tenant = $1 AND s.schedule = ");
}

}  // namespace plimsoll::lease
