#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/lease_claims/lease.hpp"
#include "lib/lease_claims/statements.hpp"
#include "lib/pg/connection.hpp"

namespace plimsoll::lease {

namespace asio = boost::asio;

/// What a worker for all tenants asks for.
struct FairRequest {
  std::string owner;
  std::chrono::milliseconds ttl{30'000};
  std::size_t limit = 16;  ///< Rows of this claim, of all tenants together.
  std::size_t share = 1;   ///< Rows of any one tenant in this claim.
};

/// Claims across tenants in turn, so that a tenant with one due schedule does not wait for one with
/// ten thousand: it is served after at most 1 + ceil(tenants / ceil(limit / share)) claims of any
/// one worker. At the end of the circle a claim may be short of its limit.
///
/// Goes on behind the tenant at which the last claim ended. Cost of a claim: one statement, an
/// index probe for each tenant passed; kTenantsPerWalk of them at most, then another statement. A
/// claim that finds nothing has passed every tenant once. The leases are a Claimer's.
///
/// Thread safety: none; one object a worker, one call at a time.
/// REQUIRES: this object and the connection outlive every call.
/// Errors: as Claimer::claim.
class FairClaimer {
 public:
  static constexpr std::size_t kTenantsPerWalk = 1000;

  /// Errors: kInvalidArgument (the schema's name).
  [[nodiscard]] static Result<FairClaimer> make(std::string_view schema);

  [[nodiscard]] asio::awaitable<Result<std::vector<Lease>>> claim(pg::Connection& connection,
                                                                  FairRequest request);

 private:
  explicit FairClaimer(Statement claim);

  Statement claim_;
  std::string after_;  // The last tenant passed; empty: start from the first.
};

}  // namespace plimsoll::lease
