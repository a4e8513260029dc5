#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace plimsoll::bench {

/// One invariant, and the SQL that counts what breaks it: 0 where it is kept. The cases and the
/// tests of these counts (audit_pgtest.cpp) read the same text.
struct Count {
  std::string_view invariant;
  std::string_view sql;
};

/// From the tables alone, after any run on rows of `fill_sql`. Each schedule is held against its
/// own slots, so that one fire too many does not hide one too few.
[[nodiscard]] const std::array<Count, 3>& table_counts() noexcept;

/// From what the triggers of `audit_sql` noted.
[[nodiscard]] const std::array<Count, 5>& noted_counts() noexcept;

/// Leases that are alive. Some time after the last claim there must be none.
inline constexpr Count kStillHeld{
    "leases_not_expired", "SELECT count(*) FROM schedules WHERE lease_until > clock_timestamp()"};

/// The tokens of all schedules: as many as there were claims.
inline constexpr std::string_view kClaimsDone = "SELECT sum(fence)::bigint FROM schedules";
inline constexpr std::string_view kFiresDone = "SELECT count(*) FROM fires";

/// The owner under which a holder claims that is there to be killed or frozen.
inline constexpr std::string_view kHolderName = "held";

/// Claims of rows whose lease a holder had let expire: the proof that a fault has bitten.
inline constexpr std::string_view kTakeovers =
    "SELECT coalesce(sum(rows), 0)::bigint FROM audit WHERE what = 'takeover'";

/// Triggers that note, by statement, what breaks `noted_counts`, and takeovers. `limit` is the most
/// rows that one claim may take. They cost; only for cases that are about faults.
///
/// A claim is known by the lease that it sets and not by the token that it should have raised;
/// nobody in these cases renews, which would look like a claim.
[[nodiscard]] std::string audit_sql(std::size_t limit);

}  // namespace plimsoll::bench
