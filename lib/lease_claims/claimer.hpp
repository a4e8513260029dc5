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

/// Claims due schedules, one subject's way, and writes under the claims' fencing tokens.
///
/// Expiry is judged by the database's clock alone, at the moment of each write. A write is one
/// statement, so one transaction and one round trip; a renewal, a release or a fire whose lease
/// expired, was superseded or retired changes nothing and answers kConflict (kNotFound when there
/// is no such schedule); finding out which costs one more round trip, paid by losers only. A call
/// that timed out or lost its connection may have been done: a claim then returns to the others
/// when its ttl is over, and a fire may be repeated with the same lease, which tells whether it was
/// recorded.
///
/// Holds no connection and no state: any connection may be given at each call, also behind a
/// transaction pooler (then use statements without names).
///
/// Thread safety: const calls from any thread, each on its connection's executor.
/// REQUIRES: this object and the connection outlive every call.
/// Errors: kInvalidArgument (a limit of lease.hpp), kConflict, kNotFound, kBusy (kUpdateReturning:
/// every try lost its race), and those of the connection.
class Claimer {
 public:
  /// Errors: kInvalidArgument (the schema's name).
  [[nodiscard]] static Result<Claimer> make(Subject subject, std::string_view schema);
  /// With SQL of the caller's own, e.g. a test's.
  explicit Claimer(Statements statements);

  /// Takes at most `request.limit` schedules of the tenant that are due and that nobody holds, the
  /// oldest first. None is no error. Now and then fewer than there are: what another transaction
  /// is just changing is left out.
  [[nodiscard]] asio::awaitable<Result<std::vector<Lease>>> claim(pg::Connection& connection,
                                                                  ClaimRequest request) const;

  /// Extends the lease to `ttl` from now; returns the new `held_until`.
  [[nodiscard]] asio::awaitable<Result<TimePoint>> renew(pg::Connection& connection, Lease lease,
                                                         std::chrono::milliseconds ttl) const;

  /// The heartbeat of work that outlasts its ttl: renews at every third of it, and ends only when
  /// the lease is lost, the connection is, or the coroutine is cancelled; with that error. A
  /// renewal that timed out is tried again until `held_until`. Meant to run beside the work, so
  /// that a lost lease ends it: `co_await (work() || claimer.keep(connection, lease, ttl))`.
  [[nodiscard]] asio::awaitable<Error> keep(pg::Connection& connection, Lease lease,
                                            std::chrono::milliseconds ttl) const;

  /// Gives the schedule back unfired; it is due again at once.
  [[nodiscard]] asio::awaitable<Result<void>> release(pg::Connection& connection,
                                                      Lease lease) const;

  /// Records the fire, moves the schedule to its next slot and ends the lease, all or nothing.
  [[nodiscard]] asio::awaitable<Result<Fired>> fire(pg::Connection& connection, Lease lease) const;

  /// The same for up to kMaxBatch leases of any tenants in one statement. A lost lease is no error
  /// here: it is in the answer's list.
  [[nodiscard]] asio::awaitable<Result<Written>> renew_all(pg::Connection& connection,
                                                           std::vector<Lease> leases,
                                                           std::chrono::milliseconds ttl) const;
  [[nodiscard]] asio::awaitable<Result<Written>> release_all(pg::Connection& connection,
                                                             std::vector<Lease> leases) const;
  [[nodiscard]] asio::awaitable<Result<FiredBatch>> fire_all(pg::Connection& connection,
                                                             std::vector<Lease> leases) const;

  /// What `claim` would choose from, oldest first, without claiming. 1 <= limit <= kMaxBatch.
  [[nodiscard]] asio::awaitable<Result<std::vector<Due>>> due(pg::Connection& connection,
                                                              std::string tenant,
                                                              std::size_t limit) const;

  [[nodiscard]] const Statements& statements() const noexcept { return statements_; }

 private:
  [[nodiscard]] asio::awaitable<Result<Fired>> explain(pg::Connection& connection, Lease lease,
                                                       std::string_view what) const;

  Statements statements_;
};

}  // namespace plimsoll::lease
