#include "lib/lease_claims/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/utf8.hpp"

namespace plimsoll::lease {

Result<void> check_name(std::string_view what, std::string_view role, std::string_view name) {
  if (name.empty()) {
    return fail(Errc::kInvalidArgument, fmt::format("{}: the {} is empty", what, role));
  }
  if (name.size() > kMaxNameBytes) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: the {} has {} bytes, at most {} are allowed", what, role,
                            name.size(), kMaxNameBytes));
  }
  if (const auto at = utf8_fault(name)) {
    return fail(Errc::kInvalidArgument,
                name[*at] == '\0'
                    ? fmt::format("{}: the {} holds a NUL at byte {}", what, role, *at)
                    : fmt::format("{}: the {} is not UTF-8 at byte {}", what, role, *at));
  }
  return {};
}

Result<void> check_ttl(std::string_view what, std::chrono::milliseconds ttl) {
  if (ttl >= kMinTtl && ttl <= kMaxTtl) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{}: the ttl is {} ms, it must be from {} to {}", what, ttl.count(),
                          kMinTtl.count(), kMaxTtl.count()));
}

Result<void> check_claim(const ClaimRequest& request, std::size_t max_batch) {
  if (auto bad = check_name("claim", "tenant", request.tenant); !bad) return bad;
  if (auto bad = check_name("claim", "owner", request.owner); !bad) return bad;
  if (auto bad = check_ttl("claim", request.ttl); !bad) return bad;
  if (request.limit >= 1 && request.limit <= max_batch) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("claim: the limit is {}, it must be from 1 to {} for this kind of claim",
                          request.limit, max_batch));
}

Result<void> check_lease(std::string_view what, const Lease& lease) {
  return check_name(what, "tenant", lease.tenant);
}

Result<void> check_leases(std::string_view what, const std::vector<Lease>& leases) {
  if (leases.empty() || leases.size() > kMaxBatch) {
    return fail(Errc::kInvalidArgument, fmt::format("{}: there are {} leases, it must be 1 to {}",
                                                    what, leases.size(), kMaxBatch));
  }
  std::vector<std::pair<std::string_view, std::int64_t>> keys;
  keys.reserve(leases.size());
  for (const Lease& lease : leases) {
    if (auto bad = check_lease(what, lease); !bad) return bad;
    keys.emplace_back(lease.tenant, lease.schedule);
  }
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return {};
  return fail(Errc::kInvalidArgument, fmt::format("{}: schedule {} of {} is in the list twice",
                                                  what, twice->second, twice->first));
}

Result<void> check_schedule(const ScheduleSpec& spec) {
  constexpr std::chrono::seconds kLongest = std::chrono::hours{24 * 366};
  if (auto bad = check_name("add_schedule", "tenant", spec.tenant); !bad) return bad;
  if (auto bad = check_name("add_schedule", "zone", spec.zone); !bad) return bad;
  if (spec.period >= std::chrono::seconds{1} && spec.period <= kLongest) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("add_schedule: the period is {} s, it must be from 1 to {}",
                          spec.period.count(), kLongest.count()));
}

}  // namespace plimsoll::lease
