#pragma once

#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/lease_claims/lease.hpp"

namespace plimsoll::lease {

/// The limits of lease.hpp, checked before anything is sent. Each answers kInvalidArgument with
/// what was seen and what is allowed. `what` names the operation, e.g. "claim".

/// `role` is "tenant" or "owner": 1 to kMaxNameBytes bytes of UTF-8 without NUL.
[[nodiscard]] Result<void> check_name(std::string_view what, std::string_view role,
                                      std::string_view name);
[[nodiscard]] Result<void> check_ttl(std::string_view what, std::chrono::milliseconds ttl);
[[nodiscard]] Result<void> check_claim(const ClaimRequest& request, std::size_t max_batch);
[[nodiscard]] Result<void> check_lease(std::string_view what, const Lease& lease);
/// 1 to kMaxBatch leases, each valid, no schedule twice.
[[nodiscard]] Result<void> check_leases(std::string_view what, const std::vector<Lease>& leases);
[[nodiscard]] Result<void> check_schedule(const ScheduleSpec& spec);

}  // namespace plimsoll::lease
