#include "lib/lease_claims/fair_claimer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/lease_claims/checks.hpp"
#include "lib/lease_claims/wire.hpp"

namespace plimsoll::lease {
namespace {

constexpr std::size_t kTenant = 3;
constexpr std::size_t kReached = 4;
constexpr std::size_t kPassed = 5;

Result<void> check_request(const FairRequest& request) {
  if (auto bad = check_name("claim", "owner", request.owner); !bad) return bad;
  if (auto bad = check_ttl("claim", request.ttl); !bad) return bad;
  if (request.limit < 1 || request.limit > kMaxBatch) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("claim: the limit is {}, it must be from 1 to {}", request.limit, kMaxBatch));
  }
  if (request.share >= 1 && request.share <= request.limit) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("claim: a tenant's share is {}, it must be from 1 to the limit, {}",
                          request.share, request.limit));
}

/// One walk's answer.
struct Walk {
  std::vector<Lease> leases;
  std::string last;  ///< The tenant passed last; empty when the walk came to the end of all.
};

Result<Walk> read_walk(const pg::Rows& rows, const FairRequest& request, TimePoint asked) {
  Walk walk;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    Result<std::optional<Lease>> lease = lease_of(rows, row);
    if (!lease) return fail(lease.error());
    if (!*lease) continue;
    (*lease)->tenant = std::string(rows.text(row, kTenant));
    (*lease)->held_until = asked + request.ttl;
    walk.leases.push_back(std::move(**lease));
  }
  std::sort(walk.leases.begin(), walk.leases.end(), [](const Lease& a, const Lease& b) {
    return std::pair(a.fire_time, a.schedule) < std::pair(b.fire_time, b.schedule);
  });
  if (!rows.value(0, kPassed)) {  // The limit was reached on the way.
    walk.last = std::string(rows.text(0, kReached));
    return walk;
  }
  const Result<std::int64_t> passed = rows.integer(0, kPassed);
  if (!passed) return fail(Errc::kProtocol, "claim: " + passed.error().message);
  if (*passed >= static_cast<std::int64_t>(FairClaimer::kTenantsPerWalk)) {
    walk.last = std::string(rows.text(0, kReached));
  }
  return walk;
}

}  // namespace

FairClaimer::FairClaimer(Statement claim) : claim_(std::move(claim)) {}

Result<FairClaimer> FairClaimer::make(std::string_view schema) {
  Result<Statements> statements = statements_for(Subject::kSkipLockedBatch, schema);
  if (!statements) return fail(statements.error());
  return FairClaimer(std::move(statements->claim_fair));
}

asio::awaitable<Result<std::vector<Lease>>> FairClaimer::claim(pg::Connection& connection,
                                                               FairRequest request) {
  if (const auto bad = check_request(request); !bad) co_return fail(bad.error());
  const std::string started = after_;
  bool wrapped = started.empty();
  while (true) {
    pg::Params params{after_,
                      request.owner,
                      std::to_string(request.ttl.count()),
                      std::to_string(request.limit),
                      std::to_string(request.share),
                      std::to_string(kTenantsPerWalk)};
    const TimePoint asked = Clock::now();
    Result<pg::Rows> rows = co_await connection.query(query_of(claim_, std::move(params)));
    if (!rows) co_return fail(rows.error());
    Result<Walk> walk = read_walk(*rows, request, asked);
    if (!walk) co_return fail(walk.error());
    after_ = walk->last;
    if (!walk->leases.empty()) co_return std::move(walk->leases);
    const bool at_end = after_.empty();
    if (at_end ? wrapped : wrapped && !started.empty() && after_ >= started) {
      co_return std::vector<Lease>{};
    }
    wrapped = wrapped || at_end;
  }
}

}  // namespace plimsoll::lease
