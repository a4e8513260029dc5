#include "bench/lease_claims/acts.hpp"

#include <fmt/format.h>

namespace plimsoll::bench {
namespace {

constexpr std::chrono::milliseconds kExpiresAtOnce{1};
constexpr std::chrono::milliseconds kHeld{std::chrono::hours{1}};
constexpr std::size_t kStock = 1000;
constexpr std::size_t kStockClaim = 100;  // By one statement; a batch divides it.

std::ptrdiff_t step_of(std::size_t batch) { return static_cast<std::ptrdiff_t>(batch); }

lease::ClaimRequest request(std::string tenant, std::chrono::milliseconds ttl, std::size_t limit) {
  return lease::ClaimRequest{std::move(tenant), "bench", ttl, limit};
}

}  // namespace

std::string_view name(Act act) noexcept {
  switch (act) {
    case Act::kClaim:
      return "claim_one";
    case Act::kRenew:
      return "renew";
    case Act::kRelease:
      return "release";
    case Act::kFire:
      return "fire";
  }
  return "unknown";
}

Acts::Acts(const Stage& stage, const lease::Claimer& claimer, pg::Connection& connection,
           std::size_t batch)
    : stage_(stage),
      claimer_(claimer),
      stocker_(*lease::Claimer::make(lease::Subject::kSkipLockedBatch, stage.schema())),
      connection_(&connection),
      batch_(batch) {}

bool Acts::stocked(Act act, std::size_t steps) const noexcept {
  const std::size_t needed = act == Act::kRenew ? 1 : steps;  // A renewal uses nothing up.
  return act == Act::kClaim || stock_.size() >= needed;
}

asio::awaitable<Result<void>> Acts::restock(Act act) {
  if (act == Act::kClaim) co_return Result<void>{};
  for (std::size_t taken = 0; taken < kStock; taken += kStockClaim) {
    Result<std::vector<lease::Lease>> leases =
        co_await stocker_.claim(*connection_, request(stage_.tenant(turn_++), kHeld, kStockClaim));
    if (!leases) co_return fail(leases.error());
    if (leases->size() != kStockClaim) {
      co_return fail(Errc::kInternal, fmt::format("wrong: {} leases in stock where {} are due",
                                                  leases->size(), kStockClaim));
    }
    claimed_ += kStockClaim;
    for (auto first = leases->begin(); first != leases->end(); first += step_of(batch_)) {
      stock_.emplace_back(first, first + step_of(batch_));
    }
  }
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Acts::claim() {
  Result<std::vector<lease::Lease>> leases = co_await claimer_.claim(
      *connection_, request(stage_.tenant(turn_++), kExpiresAtOnce, batch_));
  if (!leases) co_return fail(leases.error());
  claimed_ += leases->size();
  if (leases->size() == batch_) co_return Result<void>{};
  co_return fail(Errc::kInternal,
                 fmt::format("wrong: {} rows claimed where {} are due", leases->size(), batch_));
}

asio::awaitable<Result<void>> Acts::step(Act act) {
  if (act == Act::kClaim) {
    Result<void> done = co_await claim();
    co_return done;
  }
  // A renewal leaves its lease in the stock; the others use it up.
  std::vector<lease::Lease> leases;
  if (act == Act::kRenew) {
    leases = stock_[renewed_++ % stock_.size()];
  } else {
    leases = std::move(stock_.back());
    stock_.pop_back();
  }
  Result<std::size_t> written = co_await write(act, std::move(leases));
  if (!written) co_return fail(written.error());
  if (act == Act::kFire) fired_ += *written;
  if (*written == batch_) co_return Result<void>{};
  co_return fail(Errc::kInternal, fmt::format("wrong: {} accepted {} of {} leases that are held",
                                              name(act), *written, batch_));
}

asio::awaitable<Result<std::size_t>> Acts::write_one(Act act, lease::Lease lease) {
  if (act == Act::kRenew) {
    Result<TimePoint> until = co_await claimer_.renew(*connection_, std::move(lease), kHeld);
    if (!until) co_return fail(until.error());
    co_return std::size_t{1};
  }
  if (act == Act::kRelease) {
    Result<void> released = co_await claimer_.release(*connection_, std::move(lease));
    if (!released) co_return fail(released.error());
    co_return std::size_t{1};
  }
  Result<lease::Fired> fired = co_await claimer_.fire(*connection_, std::move(lease));
  if (!fired) co_return fail(fired.error());
  co_return fired->recorded ? std::size_t{1} : std::size_t{0};
}

asio::awaitable<Result<std::size_t>> Acts::write(Act act, std::vector<lease::Lease> leases) {
  if (batch_ == 1) {
    Result<std::size_t> one = co_await write_one(act, std::move(leases.front()));
    co_return one;
  }
  if (act == Act::kFire) {
    Result<lease::FiredBatch> fired = co_await claimer_.fire_all(*connection_, std::move(leases));
    if (!fired) co_return fail(fired.error());
    co_return fired->recorded.size();
  }
  Result<lease::Written> written;
  if (act == Act::kRenew) {
    written = co_await claimer_.renew_all(*connection_, std::move(leases), kHeld);
  } else {
    written = co_await claimer_.release_all(*connection_, std::move(leases));
  }
  if (!written) co_return fail(written.error());
  co_return written->done.size();
}

Result<std::unique_ptr<Caller>> Caller::connect(const std::string& dsn) {
  auto caller = std::make_unique<Caller>();
  pg::Config config;
  config.dsn = dsn;
  auto connection = caller->run(pg::Connection::connect(std::move(config)));
  if (!connection) return fail(connection.error());
  caller->connection_ = std::move(*connection);
  return caller;
}

}  // namespace plimsoll::bench
