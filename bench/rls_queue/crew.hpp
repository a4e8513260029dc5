#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/rls_queue/jobs.hpp"
#include "bench/rls_queue/stage.hpp"
#include "lib/core/rng.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"
#include "lib/rls_queue/queue.hpp"

namespace plimsoll::bench {

namespace asio = boost::asio;

/// What the callers of a crew do.
struct Duty {
  enum class Act {
    kRead,
    kWrite,
    kMixed,        ///< Four reads and a write.
    kFailTenth,    ///< Reads, of which each tenth job fails.
    kBurst,        ///< Eight jobs at once that note their order.
    kSmallAndBig,  ///< Reads; one caller is all that tenant 0 has, the others are tenant 1's.
  };
  rls::Subject subject = rls::Subject::kPipelined;
  Act act = Act::kRead;
  std::size_t callers = 100;
  std::size_t connections = 1;
  bool with_actor = false;
  bool pooled = false;  ///< Through PgBouncer.
};

inline constexpr std::size_t kBurst = 8;

/// Callers that share one queue on the subject's thread. Tenant and note are drawn at random for
/// each operation. What an answer must be is checked: its tenant, and how many rows.
///
/// Thread safety: `turn` on the subject's thread; the counts once the run is over.
class Crew {
 public:
  struct Counts {
    std::uint64_t foreign_rows = 0;   ///< Rows of another tenant in an answer.
    std::uint64_t wrong_answers = 0;  ///< Not the one row, or no failure where one was due.
    std::uint64_t written = 0;
    std::uint64_t logged = 0;
    std::uint64_t jobs = 0;
    std::uint64_t small_jobs = 0;  ///< Of tenant 0 under Act::kSmallAndBig,
    Nanoseconds small_time{0};     ///< and how long they took together.
  };

  /// REQUIRES: stage and thread outlive the crew.
  [[nodiscard]] static Result<std::unique_ptr<Crew>> hire(const Stage& stage, const Duty& duty,
                                                          load::SubjectThread& thread);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  [[nodiscard]] asio::awaitable<load::Outcome> turn(load::OpContext context);

  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  /// Has every tenant look at all that it can see, once.
  [[nodiscard]] Result<void> look_around();
  /// Connections that hold an identity between two jobs, a pooler's included.
  [[nodiscard]] Result<std::int64_t> identities_left();

 private:
  Crew(const Stage& stage, const Duty& duty, load::SubjectThread& thread);
  [[nodiscard]] asio::awaitable<Result<void>> open(rls::Config config);
  [[nodiscard]] asio::awaitable<Result<void>> close();
  [[nodiscard]] asio::awaitable<load::Outcome> read(std::uint64_t tenant, std::uint64_t caller);
  [[nodiscard]] asio::awaitable<load::Outcome> write(std::uint64_t tenant, std::uint64_t caller);
  [[nodiscard]] asio::awaitable<load::Outcome> fail(std::uint64_t tenant, std::uint64_t caller);
  [[nodiscard]] asio::awaitable<load::Outcome> burst(std::uint64_t caller);
  [[nodiscard]] asio::awaitable<load::Outcome> small_or_big(std::uint64_t caller);
  [[nodiscard]] asio::awaitable<Result<void>> look_each();
  [[nodiscard]] std::uint64_t draw_note(std::uint64_t caller);

  const Stage& stage_;
  const Duty duty_;
  load::SubjectThread& thread_;
  const Jobs jobs_;
  std::vector<Rng> draws_;
  std::vector<std::uint64_t> sent_;  // Of each caller's bursts.
  std::unique_ptr<rls::Queue> queue_;
  Counts counts_;
};

/// A run of a crew under the case's size, or under its fixed number of operations.
[[nodiscard]] load::Options crew_options(const Case& c, Stage& stage, const Duty& duty);

/// Hires, runs, reports, and checks what every crew must keep: cross_tenant_rows, foreign_writes,
/// identity_left, wrong_answers, failed_operations, exhaustion_errors, writes_unaccounted and
/// jobs_out_of_order, the tables' counts by SQL. Returns what the crew counted, or nothing
/// when the case failed.
[[nodiscard]] std::optional<Crew::Counts> run_crew(Case& c, const Duty& duty, Shape shape);

}  // namespace plimsoll::bench
