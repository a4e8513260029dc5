#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/helper_process.hpp"
#include "bench/lease_claims/stage.hpp"
#include "lib/core/clock.hpp"
#include "lib/core/result.hpp"
#include "lib/lease_claims/statements.hpp"

namespace plimsoll::bench {

/// What becomes of a holder now and then.
enum class Fate {
  kKilled,  ///< SIGKILL; another takes its place.
  kFrozen,  ///< SIGSTOP until its leases are over for long, then SIGCONT.
};

/// Processes that claim and fire beside a crew, and meet their fate in turn until `stop`. What they
/// hold then is left to expire.
///
/// Thread safety: make, stop and destroy on one thread.
class Holders {
 public:
  struct Plan {
    lease::Subject subject = lease::Subject::kSkipLockedBatch;  ///< How they claim.
    std::size_t batch = 4;                                      ///< Rows of one claim, at most.
    std::size_t count = 1;
    Fate fate = Fate::kKilled;
    std::chrono::milliseconds ttl{200};
    std::chrono::milliseconds pause{100};  ///< Between two fates.
  };

  /// REQUIRES: stage outlives this object. Errors: kUnavailable (the program beside our own cannot
  /// be started).
  [[nodiscard]] static Result<std::unique_ptr<Holders>> start(const Stage& stage, Plan plan);
  ~Holders();
  Holders(const Holders&) = delete;
  Holders& operator=(const Holders&) = delete;

  /// Ends all holders. Returns how many fates there were, or why a holder could not go on. A freeze
  /// that `stop` cut short was none. Whether a fate hit a lease is for the audit to say.
  [[nodiscard]] Result<std::uint64_t> stop();

 private:
  Holders(const Stage& stage, Plan plan);
  /// Returns whether its leases were over when it went on.
  [[nodiscard]] bool freeze(const HelperProcess& holder) const;
  void rule();
  [[nodiscard]] bool wait(std::chrono::milliseconds time) const;

  const Plan plan_;
  HelperProcess::Plan program_;
  std::vector<HelperProcess> holders_;
  std::string failure_;
  std::uint64_t fates_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread ruler_;
};

}  // namespace plimsoll::bench
