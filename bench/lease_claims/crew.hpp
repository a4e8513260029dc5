#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/lease_claims/stage.hpp"
#include "lib/core/rng.hpp"
#include "lib/lease_claims/claimer.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"
#include "lib/pg/connection.hpp"

namespace plimsoll::bench {

namespace asio = boost::asio;

/// What the workers of a crew do in one operation.
struct Duty {
  lease::Subject subject = lease::Subject::kSkipLocked;
  std::size_t workers = 16;
  std::size_t batch = 1;
  bool fire =
      false;  ///< False: claim, and let the lease expire. True: claim, then fire what was got.
  std::chrono::milliseconds ttl{1};
};

/// Workers with a connection each on the subject's thread. Each operation goes to a tenant drawn at
/// random. An operation that finds nothing due is `busy` in the ledger; one that met a connection
/// that is gone failed, after a pause, since nothing of it was sent.
///
/// Thread safety: `turn` and what it reads on the subject's thread; totals from anywhere.
class Crew {
 public:
  /// REQUIRES: stage and thread outlive the crew.
  [[nodiscard]] static Result<std::unique_ptr<Crew>> hire(const Stage& stage, const Duty& duty,
                                                          load::SubjectThread& thread);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  [[nodiscard]] asio::awaitable<load::Outcome> turn(load::OpContext context);

  /// Closes the connections, on their thread. The totals stay.
  void dismiss();

  [[nodiscard]] std::uint64_t claimed() const noexcept { return claimed_; }
  [[nodiscard]] std::uint64_t fired() const noexcept { return fired_; }
  [[nodiscard]] std::uint64_t beyond_limit() const noexcept { return beyond_limit_; }
  /// Operations that found nothing due, warm-up and all. (The ledger's `busy` also holds the races
  /// that compare and set lost.)
  [[nodiscard]] std::uint64_t dry() const noexcept { return dry_; }
  /// The server processes that serve the connections, also when these are closed.
  [[nodiscard]] const std::vector<int>& backends() const noexcept { return backends_; }
  /// When each round of claim and fire ended, in order.
  [[nodiscard]] const std::vector<TimePoint>& ended() const noexcept { return ended_; }

 private:
  Crew(const Stage& stage, const Duty& duty, load::SubjectThread& thread, lease::Claimer claimer);
  [[nodiscard]] asio::awaitable<Result<void>> connect();
  [[nodiscard]] asio::awaitable<Result<void>> disconnect();
  [[nodiscard]] asio::awaitable<Result<std::uint64_t>> fire(pg::Connection& connection,
                                                            std::vector<lease::Lease> leases);

  const Stage& stage_;
  const Duty duty_;
  load::SubjectThread& thread_;
  const lease::Claimer claimer_;
  std::vector<Rng> draws_;
  std::vector<std::unique_ptr<pg::Connection>> connections_;
  std::vector<int> backends_;
  std::vector<TimePoint> ended_;
  std::atomic<std::uint64_t> claimed_{0};
  std::atomic<std::uint64_t> fired_{0};
  std::atomic<std::uint64_t> beyond_limit_{0};
  std::atomic<std::uint64_t> dry_{0};
};

/// A run of a crew under the case's size, or under its fixed number of operations.
[[nodiscard]] load::Options crew_options(const Case& c, Stage& stage, const Duty& duty);

/// The invariants that every crew must keep, counted by SQL against what the library said:
/// claims_unaccounted, fires_unaccounted, duplicate_fires, lost_fires, repeated_tokens,
/// rows_beyond_limit. `exact` false: some workers were not ours to count, so only the tables speak.
void check_invariants(Case& c, Stage& stage, const Crew& crew, bool exact);

/// For a case in which nobody dies and nothing runs out: `failed_operations` is 0, and the case
/// fails when more than one operation in twenty found nothing due, since it then measured empty
/// answers.
void check_undisturbed(Case& c, const Crew& crew, const load::Report& report);

}  // namespace plimsoll::bench
