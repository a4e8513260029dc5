#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/core/result.hpp"
#include "lib/load/arrivals.hpp"
#include "lib/load/histogram.hpp"
#include "lib/load/host.hpp"
#include "lib/load/ledger.hpp"
#include "lib/load/resources.hpp"
#include "lib/load/validity.hpp"

namespace plimsoll::load {

namespace asio = boost::asio;

/// How operations are started.
enum class Mode {
  kClosed,       ///< `concurrency` callers, each starts its next operation when the last one ended.
  kOpenCatchUp,  ///< By plan; a late start is made up as soon as there is room. Response counts
                 ///< from the plan.
  kOpenSkip,     ///< By plan; what cannot start within `late_limit` is skipped and counted.
};

/// As in a case's label, e.g. "open-skip".
[[nodiscard]] std::string_view name(Mode mode) noexcept;

/// One operation's identity, as the runner hands it to the subject.
struct OpContext {
  std::uint64_t sequence;  ///< 0, 1, 2, ... over the whole run, warm-up included.
  std::size_t caller;      ///< Which of the `concurrency` callers (closed), or the slot (open).
};

/// What became of one operation. `items` is how much work it did (rows claimed, bytes), for
/// throughput.
struct Outcome {
  enum class Kind { kOk, kBusy, kFailed, kTimeout, kIndeterminate } kind = Kind::kOk;
  std::uint64_t items = 1;
  std::string error_kind{};  ///< Short stable word for a failure, e.g. an SQLSTATE; the ledger
                             ///< counts by it.
};

/// What became of an operation that failed, by what its caller can know. An operation that was
/// never sent has failed; after a lost connection or a cancellation nobody knows whether it was
/// done. `is_begun`: an earlier statement of the operation was answered, so that the server may
/// have done a part of it even where the one that failed was not sent. The kind is the SQLSTATE, or
/// else the error's name.
[[nodiscard]] Outcome outcome_of(const Error& error, bool is_begun = false);

/// The thing under load. It is called on the subject's executor, never on the generator's thread.
///
/// An exception that leaves it is counted as failed, of the kind "exception". It should honour
/// cancellation: an operation still open when the drain limit is reached is cancelled (terminal).
/// If it does not end even then, `run` returns without it, so what it refers to must live until its
/// executor's context is destroyed; a `SubjectThread` declared after those objects does that.
using Operation = std::function<asio::awaitable<Outcome>(OpContext)>;

struct Options {
  Mode mode = Mode::kClosed;
  std::size_t concurrency =
      1;                ///< Callers (closed), or the most in flight (open). Up to a million.
  Arrivals arrivals{};  ///< Open modes only.
  std::chrono::milliseconds warmup_floor{200};
  std::chrono::milliseconds warmup_cap{2000};  ///< Not steady by then: NOT_STEADY. 0: no warm-up.
  std::chrono::milliseconds window{1000};      ///< The measured interval.
  std::uint64_t fixed_operations = 0;  ///< > 0: no warm-up and no window; exactly so many (A/B
                                       ///< samples). Given up when none ends for `drain_limit`.
  std::chrono::milliseconds late_limit{100};
  std::chrono::milliseconds drain_limit{
      5000};                       ///< After the window; what is open then is `in_flight`.
  std::vector<int> server_pids{};  ///< Process trees sampled apart from ours.
  std::uint64_t seed = 1;
  /// The server's own count of operations done, read before and after; the ledger must equal the
  /// difference.
  std::function<Result<std::uint64_t>()> server_count{};
  /// When to begin, so that several generators begin together. In the past: at once.
  TimePoint start_at{};
  Limits limits{};  ///< From where on a run is not VALID.
};

/// All that one run measured.
///
/// An operation belongs to the window when it was planned in it (closed: started), wherever it
/// ended. The histograms hold every operation of the window that ended, whatever its outcome, so
/// that a timeout makes them worse and not better; the ledger tells how many were not ok.
struct Report {
  Mode mode = Mode::kClosed;
  Ledger ledger;                   ///< Of the measured window.
  Ledger warmup;                   ///< Of what came before it.
  Histogram service;               ///< Start to done, ns.
  Histogram response;              ///< Planned to done, ns; equals service in closed mode.
  Histogram lag;                   ///< Planned to start, ns; empty in closed mode.
  Nanoseconds window{0};           ///< Its real length.
  std::uint64_t completed = 0;     ///< Ended ok inside the window, wherever they began.
  std::uint64_t items = 0;         ///< The items of these.
  double mean_in_flight = 0;       ///< Time-weighted, for Little's law.
  Nanoseconds null_service{0};     ///< What the null subject cost per operation, CPU.
  double harness_share = 0;        ///< The harness' part of the CPU used, 0 to 1.
  Nanoseconds pacer_lag_p99{0};    ///< Open: planned to issued, where a slot was free.
  std::uint64_t cap_hits = 0;      ///< Open: arrivals that had to wait for a slot.
  bool steady = true;              ///< Whether the warm-up ended by the steady-state test.
  Resources own;                   ///< Of our process.
  std::vector<Resources> servers;  ///< One for each of Options::server_pids.
  HostUse host;
  Validity validity;

  [[nodiscard]] double operations_per_second() const;  ///< `completed` over the window.
  [[nodiscard]] double items_per_second() const;
};

/// Runs `operation` under `options` against a subject whose coroutines run on a thread of their own
/// (`SubjectThread`), and returns when everything was drained. Blocks the calling thread, which in
/// the open modes is the generator: it paces and hands over, and never runs subject code.
///
/// Closed: each caller is one coroutine that loops on `subject`; between two operations of a caller
/// lie two clock readings and no hop. A subject that never suspends is made to yield every
/// millisecond. Open: all arrivals due are issued per wake-up, each with its own planned time.
///
/// Before the run proper, a null subject takes a few milliseconds of the same shape. The run itself
/// is warm-up, window and drain; however the subject behaves, it takes no longer than warm-up cap,
/// window, drain limit and about two seconds more.
///
/// REQUIRES: `subject` runs one handler at a time (an io_context with one thread, or a strand).
/// Errors: kInvalidArgument (an option out of range, named; or called from the subject's own
/// thread); whatever `server_count` says when first asked. A failing operation is in the ledger,
/// not an error.
[[nodiscard]] Result<Report> run(const Options& options, asio::any_io_executor subject,
                                 const Operation& operation);

/// Two generators' reports of one plan as one: ledgers, histograms and counters added, the longer
/// window, the graver verdict with the reasons of both. Series cannot be added: of each, the one
/// with the higher maximum stays.
///
/// Errors: kInvalidArgument when the modes differ.
[[nodiscard]] Result<Report> merge(const Report& a, const Report& b);

}  // namespace plimsoll::load
