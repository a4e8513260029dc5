#include "lib/lease_claims/claimer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <iterator>
#include <optional>
#include <utility>

#include "lib/core/with_timeout.hpp"
#include "lib/lease_claims/checks.hpp"
#include "lib/lease_claims/wire.hpp"

namespace plimsoll::lease {
namespace {

using Key = std::pair<std::string_view, std::int64_t>;

// A claim that lost all its candidates chooses again from a wider stretch of what is due, then from
// a narrower one, so that it neither runs into the same neighbours nor past the end of a short
// list.
constexpr std::array<std::size_t, 8> kWindows{0, 4, 8, 16, 32, 16, 8, 0};

struct Claimed {
  std::vector<Lease> leases;
  std::int64_t candidates = 0;
};

Result<Claimed> read_claim(const pg::Rows& rows, const ClaimRequest& request, TimePoint asked,
                           bool optimistic) {
  Claimed claimed;
  claimed.leases.reserve(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    Result<std::optional<Lease>> lease = lease_of(rows, row);
    if (!lease) return fail(lease.error());
    if (!*lease) continue;
    (*lease)->tenant = request.tenant;
    (*lease)->held_until = asked + request.ttl;
    claimed.leases.push_back(std::move(**lease));
  }
  if (optimistic && !rows.empty()) {
    const Result<std::int64_t> candidates = rows.integer(0, 3);
    if (!candidates) return fail(Errc::kProtocol, "claim: " + candidates.error().message);
    claimed.candidates = *candidates;
  }
  std::sort(claimed.leases.begin(), claimed.leases.end(), [](const Lease& a, const Lease& b) {
    return std::pair(a.fire_time, a.schedule) < std::pair(b.fire_time, b.schedule);
  });
  return claimed;
}

/// The keys in the first two columns, sorted; views into `rows`.
Result<std::vector<Key>> keys_of(const pg::Rows& rows) {
  std::vector<Key> keys;
  keys.reserve(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Result<std::int64_t> schedule = rows.integer(row, 1);
    if (!schedule) return fail(Errc::kProtocol, "lease_claims: " + schedule.error().message);
    keys.emplace_back(rows.text(row, 0), *schedule);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

bool holds(const std::vector<Key>& keys, const Lease& lease) {
  return std::binary_search(keys.begin(), keys.end(), Key{lease.tenant, lease.schedule});
}

Result<Written> split(std::vector<Lease> leases, const pg::Rows& rows) {
  const Result<std::vector<Key>> keys = keys_of(rows);
  if (!keys) return fail(keys.error());
  Written written;
  for (Lease& lease : leases) {
    (holds(*keys, lease) ? written.done : written.lost).push_back(std::move(lease));
  }
  return written;
}

/// By the answer to fire_all: who moved a schedule and who recorded a fire.
Result<FiredBatch> sort_out(std::vector<Lease> leases, const pg::Rows& rows) {
  std::vector<Key> moved;
  std::vector<Key> recorded;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Result<std::int64_t> schedule = rows.integer(row, 1);
    if (!schedule) return fail(Errc::kProtocol, "fire_all: " + schedule.error().message);
    (rows.text(row, 2) == "t" ? recorded : moved).emplace_back(rows.text(row, 0), *schedule);
  }
  std::sort(moved.begin(), moved.end());
  std::sort(recorded.begin(), recorded.end());
  FiredBatch batch;
  for (Lease& lease : leases) {
    auto& list = holds(recorded, lease) ? batch.recorded
                 : holds(moved, lease)  ? batch.duplicate
                                        : batch.lost;
    list.push_back(std::move(lease));
  }
  return batch;
}

/// Of the lost, those that `earlier` names were recorded by an earlier call.
Result<FiredBatch> with_earlier(FiredBatch batch, const pg::Rows& earlier) {
  Result<Written> told = split(std::move(batch.lost), earlier);
  if (!told) return fail(told.error());
  std::move(told->done.begin(), told->done.end(), std::back_inserter(batch.recorded));
  batch.lost = std::move(told->lost);
  return batch;
}

}  // namespace

Result<Claimer> Claimer::make(Subject subject, std::string_view schema) {
  Result<Statements> statements = statements_for(subject, schema);
  if (!statements) return fail(statements.error());
  return Claimer(std::move(*statements));
}

Claimer::Claimer(Statements statements) : statements_(std::move(statements)) {}

asio::awaitable<Result<std::vector<Lease>>> Claimer::claim(pg::Connection& connection,
                                                           ClaimRequest request) const {
  if (const auto bad = check_claim(request, statements_.max_batch); !bad)
    co_return fail(bad.error());
  pg::Params params{request.tenant, request.owner, std::to_string(request.ttl.count())};
  if (statements_.max_batch > 1) params.emplace_back(std::to_string(request.limit));
  for (const std::size_t window : kWindows) {
    pg::Params all = params;
    if (statements_.optimistic) all.emplace_back(std::to_string(window * request.limit));
    const TimePoint asked = Clock::now();
    Result<pg::Rows> rows = co_await connection.query(query_of(statements_.claim, std::move(all)));
    if (!rows) co_return fail(rows.error());
    Result<Claimed> claimed = read_claim(*rows, request, asked, statements_.optimistic);
    if (!claimed) co_return fail(claimed.error());
    const bool nothing_due = window == 0 && claimed->candidates == 0;
    if (!claimed->leases.empty() || nothing_due) co_return std::move(claimed->leases);
  }
  co_return fail(Errc::kBusy, fmt::format("claim: others were first in each of {} tries for {}",
                                          kWindows.size(), request.tenant));
}

asio::awaitable<Result<TimePoint>> Claimer::renew(pg::Connection& connection, Lease lease,
                                                  std::chrono::milliseconds ttl) const {
  if (const auto bad = check_lease("renew", lease); !bad) co_return fail(bad.error());
  if (const auto bad = check_ttl("renew", ttl); !bad) co_return fail(bad.error());
  const TimePoint asked = Clock::now();
  pg::Params params = lease_params(lease);
  params.back() = std::to_string(ttl.count());
  Result<pg::Rows> rows = co_await connection.query(query_of(statements_.renew, std::move(params)));
  if (!rows) co_return fail(rows.error());
  if (rows->affected() == 1) co_return asked + ttl;
  Result<Fired> why = co_await explain(connection, std::move(lease), "renew");
  if (!why) co_return fail(why.error());
  co_return fail(Errc::kConflict, "renew: lost lease: this lease has fired already");
}

asio::awaitable<Error> Claimer::keep(pg::Connection& connection, Lease lease,
                                     std::chrono::milliseconds ttl) const {
  asio::steady_timer timer(connection.executor());
  while (true) {
    timer.expires_at(lease.held_until - 2 * ttl / 3);
    const auto waited = co_await timer.async_wait(kAsValue);
    if (std::get<0>(waited)) co_return Error{Errc::kCancelled, "keep: cancelled", {}};
    const Result<TimePoint> until = co_await renew(connection, lease, ttl);
    if (until) {
      lease.held_until = *until;
    } else if (until.error().code != Errc::kTimeout || Clock::now() >= lease.held_until) {
      co_return until.error();
    }
  }
}

asio::awaitable<Result<void>> Claimer::release(pg::Connection& connection, Lease lease) const {
  if (const auto bad = check_lease("release", lease); !bad) co_return fail(bad.error());
  pg::Params params = lease_params(lease);
  params.pop_back();
  Result<pg::Rows> rows =
      co_await connection.query(query_of(statements_.release, std::move(params)));
  if (!rows) co_return fail(rows.error());
  if (rows->affected() == 1) co_return Result<void>{};
  Result<Fired> why = co_await explain(connection, std::move(lease), "release");
  if (!why) co_return fail(why.error());
  co_return fail(Errc::kConflict, "release: lost lease: this lease has fired already");
}

asio::awaitable<Result<Fired>> Claimer::fire(pg::Connection& connection, Lease lease) const {
  if (const auto bad = check_lease("fire", lease); !bad) co_return fail(bad.error());
  Result<pg::Rows> rows =
      co_await connection.query(query_of(statements_.fire, lease_params(lease)));
  if (!rows) co_return fail(rows.error());
  if (rows->empty()) {
    Result<Fired> why = co_await explain(connection, std::move(lease), "fire");
    co_return why;
  }
  const Result<Timestamp> next = timestamp_of(*rows, 0, 0);
  if (!next) co_return fail(next.error());
  co_return Fired{rows->text(0, 1) == "1", *next};
}

asio::awaitable<Result<Fired>> Claimer::explain(pg::Connection& connection, Lease lease,
                                                std::string_view what) const {
  Result<pg::Rows> rows =
      co_await connection.query(query_of(statements_.explain, lease_params(lease)));
  if (!rows) co_return fail(rows.error());
  if (rows->empty()) {
    co_return fail(Errc::kNotFound,
                   fmt::format("{}: {} has no schedule {}", what, lease.tenant, lease.schedule));
  }
  const std::string ours = std::to_string(lease.fence);
  if (rows->text(0, 4) == "t") {
    const Result<Timestamp> next = timestamp_of(*rows, 0, 3);
    co_return Fired{true, next ? *next : Timestamp::max()};
  }
  if (rows->text(0, 2) == "t") {
    co_return fail(Errc::kConflict, fmt::format("{}: lost lease: schedule {} of {} is retired",
                                                what, lease.schedule, lease.tenant));
  }
  if (rows->text(0, 0) == ours) {
    co_return fail(
        Errc::kConflict,
        fmt::format("{}: lost lease: token {} of schedule {} of {} expired or was given back", what,
                    ours, lease.schedule, lease.tenant));
  }
  co_return fail(
      Errc::kConflict,
      fmt::format("{}: lost lease: schedule {} of {} is at token {} (claimed by {}), ours is {}",
                  what, lease.schedule, lease.tenant, rows->text(0, 0), rows->text(0, 1), ours));
}

asio::awaitable<Result<Written>> Claimer::renew_all(pg::Connection& connection,
                                                    std::vector<Lease> leases,
                                                    std::chrono::milliseconds ttl) const {
  if (const auto bad = check_leases("renew_all", leases); !bad) co_return fail(bad.error());
  if (const auto bad = check_ttl("renew_all", ttl); !bad) co_return fail(bad.error());
  const TimePoint asked = Clock::now();
  pg::Params params = batch_params(leases);
  params.back() = std::to_string(ttl.count());
  Result<pg::Rows> rows =
      co_await connection.query(query_of(statements_.renew_all, std::move(params)));
  if (!rows) co_return fail(rows.error());
  Result<Written> written = split(std::move(leases), *rows);
  if (!written) co_return written;
  for (Lease& lease : written->done) lease.held_until = asked + ttl;
  co_return written;
}

asio::awaitable<Result<Written>> Claimer::release_all(pg::Connection& connection,
                                                      std::vector<Lease> leases) const {
  if (const auto bad = check_leases("release_all", leases); !bad) co_return fail(bad.error());
  pg::Params params = batch_params(leases);
  params.pop_back();
  Result<pg::Rows> rows =
      co_await connection.query(query_of(statements_.release_all, std::move(params)));
  if (!rows) co_return fail(rows.error());
  co_return split(std::move(leases), *rows);
}

asio::awaitable<Result<FiredBatch>> Claimer::fire_all(pg::Connection& connection,
                                                      std::vector<Lease> leases) const {
  if (const auto bad = check_leases("fire_all", leases); !bad) co_return fail(bad.error());
  Result<pg::Rows> rows =
      co_await connection.query(query_of(statements_.fire_all, batch_params(leases)));
  if (!rows) co_return fail(rows.error());
  Result<FiredBatch> batch = sort_out(std::move(leases), *rows);
  if (!batch || batch->lost.empty()) co_return batch;
  Result<pg::Rows> before =
      co_await connection.query(query_of(statements_.explain_all, batch_params(batch->lost)));
  if (!before) co_return fail(before.error());
  co_return with_earlier(std::move(*batch), *before);
}

asio::awaitable<Result<std::vector<Due>>> Claimer::due(pg::Connection& connection,
                                                       std::string tenant,
                                                       std::size_t limit) const {
  if (const auto bad = check_name("due", "tenant", tenant); !bad) co_return fail(bad.error());
  if (limit < 1 || limit > kMaxBatch) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("due: the limit is {}, it must be from 1 to {}", limit, kMaxBatch));
  }
  pg::Params params{std::move(tenant), std::to_string(limit)};
  Result<pg::Rows> rows = co_await connection.query(query_of(statements_.due, std::move(params)));
  if (!rows) co_return fail(rows.error());
  std::vector<Due> found;
  for (std::size_t row = 0; row < rows->size(); ++row) {
    const Result<std::int64_t> schedule = rows->integer(row, 0);
    const Result<Timestamp> fire_time = timestamp_of(*rows, row, 1);
    if (!schedule) co_return fail(Errc::kProtocol, "due: " + schedule.error().message);
    if (!fire_time) co_return fail(fire_time.error());
    found.push_back(Due{*schedule, *fire_time});
  }
  co_return found;
}

}  // namespace plimsoll::lease
