#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/clock.hpp"

namespace plimsoll::lease {

/// A moment as PostgreSQL keeps it: UTC, whole microseconds.
using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;

/// Limits that every call checks before anything is sent.
inline constexpr std::chrono::milliseconds kMinTtl{1};
inline constexpr std::chrono::milliseconds kMaxTtl{std::chrono::hours{24}};
inline constexpr std::size_t kMaxBatch = 1000;     ///< Rows of one claim, leases of one batch call.
inline constexpr std::size_t kMaxNameBytes = 200;  ///< Of a tenant's or an owner's name.
inline constexpr std::size_t kMaxAdvisoryBatch = 50;  ///< See Subject::kAdvisory.

/// The right to fire one schedule once, until it expires.
struct Lease {
  std::string tenant;
  std::int64_t schedule = 0;
  Timestamp fire_time{};   ///< Which fire this is; with tenant and schedule the key of `fires`.
  std::int64_t fence = 0;  ///< Grows with each claim of the schedule; every write must show it.
  /// Our own clock's reading before the claim was sent, plus the ttl: never later than the expiry
  /// that the database decides by, as far as the two clocks run at one speed. For planning a
  /// renewal only; what counts is the database.
  TimePoint held_until{};
};

/// What a worker asks for.
struct ClaimRequest {
  std::string tenant;
  /// For people who read the table. Two workers may bear one name: rights come from the fence
  /// alone.
  std::string owner;
  std::chrono::milliseconds ttl{30'000};
  std::size_t limit = 1;
};

/// How a fire ended that was not refused.
struct Fired {
  /// True: this lease recorded the fire, now or in an earlier call whose answer was lost. False:
  /// the fire time was in `fires` before this lease, so that it must have no effect again; the
  /// schedule has moved on all the same.
  bool recorded = false;
  Timestamp next_fire{};
};

/// What became of a batch. Every lease is in exactly one of the two lists.
struct Written {
  std::vector<Lease> done;
  std::vector<Lease> lost;  ///< Expired, superseded or retired: the write did not happen.
};

/// What became of a batch of fires. Every lease is in exactly one of the three lists.
struct FiredBatch {
  std::vector<Lease> recorded;   ///< As Fired::recorded.
  std::vector<Lease> duplicate;  ///< The fire time was recorded before, by another lease.
  std::vector<Lease> lost;
};

/// A clock of one tenant. Slots are `first`, then every `period` of the local wall clock of `zone`.
///
/// A slot in an hour that the zone skips fires at the moment that the wall clock would have reached
/// it (an hour later by the label), together with the slot of that label: once. A slot in an hour
/// that the zone repeats fires once, in the second (standard time) passage.
struct ScheduleSpec {
  std::string tenant;
  std::int64_t schedule = 0;
  Timestamp first{};
  std::chrono::seconds period{60};
  std::string zone{"UTC"};  ///< IANA name.
  /// True: after an outage every missed slot is fired, oldest first. False: the oldest one alone,
  /// then the next to come.
  bool catch_up = true;
};

/// A row that could be claimed.
struct Due {
  std::int64_t schedule = 0;
  Timestamp fire_time{};
};

}  // namespace plimsoll::lease
