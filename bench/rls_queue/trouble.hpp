#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/rls_queue/jobs.hpp"
#include "bench/rls_queue/stage.hpp"
#include "lib/core/rng.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::bench {

namespace asio = boost::asio;

/// Callers of a pool whose jobs look at all they can see and write it down, and of which some fail,
/// sleep past their time, are cancelled, or turn into another tenant on the way.
///
/// Thread safety: `turn` on the subject's thread; the counts once the run is over.
class Trouble {
 public:
  struct Counts {
    std::uint64_t provoked =
        0;                   ///< Jobs that failed, timed out, were cancelled or refused, as meant.
    std::uint64_t lost = 0;  ///< Jobs that lost their connection.
    std::uint64_t unexpected = 0;  ///< Any other failure.
    std::uint64_t impostors_accepted =
        0;  ///< Jobs that became another tenant and were not refused.
  };

  /// The function by which a job turns into another tenant.
  [[nodiscard]] static std::string ddl(const std::string& schema);

  /// REQUIRES: stage and thread outlive this.
  [[nodiscard]] static Result<std::unique_ptr<Trouble>> make(const Stage& stage,
                                                             std::size_t callers,
                                                             std::size_t connections,
                                                             load::SubjectThread& thread);
  ~Trouble();
  Trouble(const Trouble&) = delete;
  Trouble& operator=(const Trouble&) = delete;

  [[nodiscard]] asio::awaitable<load::Outcome> turn(load::OpContext context);
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  /// Connections that hold an identity between two jobs; a killed one holds none.
  [[nodiscard]] Result<std::int64_t> identities_left();

 private:
  enum class Act { kLook, kFail, kSleep, kCancel, kBecome };

  Trouble(const Stage& stage, std::size_t callers, load::SubjectThread& thread);
  [[nodiscard]] asio::awaitable<Result<void>> open(rls::Config config);
  [[nodiscard]] asio::awaitable<Result<void>> close();
  [[nodiscard]] rls::Job draw_job(Rng& draw, Act act, std::uint64_t caller) const;
  /// Empty `answers`: the job was cancelled.
  [[nodiscard]] load::Outcome note(Act act, const std::optional<Result<rls::Answers>>& answers);

  const Stage& stage_;
  load::SubjectThread& thread_;
  const Jobs jobs_;
  const std::string become_;
  std::vector<Rng> draws_;
  std::unique_ptr<rls::Queue> queue_;
  Counts counts_;
};

}  // namespace plimsoll::bench
