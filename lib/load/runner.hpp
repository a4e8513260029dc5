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
#include "lib/load/ledger.hpp"
#include "lib/load/resources.hpp"
#include "lib/load/validity.hpp"

namespace plimsoll::load {

namespace asio = boost::asio;

/// How operations are started.
enum class Mode {
  kClosed,       ///< `concurrency` callers, each starts its next operation when the last one ended.
  kOpenCatchUp,  ///< By plan; a late start is made up as soon as there is room. Response counts from the plan.
  kOpenSkip,     ///< By plan; what cannot start within `late_limit` is skipped and counted.
};

/// One operation's identity, as the runner hands it to the subject.
struct OpContext {
  std::uint64_t sequence;  ///< 0, 1, 2, ... over the whole run, warm-up included.
  std::size_t caller;      ///< Which of the `concurrency` callers (closed), or the in-flight slot (open).
};

/// What became of one operation. `items` is how much work it did (rows claimed, bytes), for throughput.
struct Outcome {
  enum class Kind { kOk, kBusy, kFailed, kTimeout, kIndeterminate } kind = Kind::kOk;
  std::uint64_t items = 1;
  std::string error_kind{};  ///< Short stable word for a failure, e.g. an SQLSTATE; the ledger counts by it.
};

/// The thing under load. It is called on the subject's executor, never on the generator's thread.
using Operation = std::function<asio::awaitable<Outcome>(OpContext)>;

struct Options {
  Mode mode = Mode::kClosed;
  std::size_t concurrency = 1;  ///< Callers (closed), or the most in flight (open).
  Arrivals arrivals{};          ///< Open modes only.
  std::chrono::milliseconds warmup_floor{200};
  std::chrono::milliseconds warmup_cap{2000};  ///< Not steady by then: NOT_STEADY.
  std::chrono::milliseconds window{1000};      ///< The measured interval.
  std::uint64_t fixed_operations = 0;          ///< > 0: no warm-up and no window; exactly so many (A/B samples).
  std::chrono::milliseconds late_limit{100};
  std::chrono::milliseconds drain_limit{5000};  ///< After the window; what is still open then is `in_flight`.
  std::vector<int> server_pids{};               ///< Process trees sampled apart from ours.
  std::uint64_t seed = 1;
  /// The server's own count of operations done, read before and after; the ledger must equal the difference.
  std::function<Result<std::uint64_t>()> server_count{};
};

/// All that one run measured.
struct Report {
  Mode mode;
  Ledger ledger;          ///< Of the measured window.
  Histogram service;      ///< Start to done, ns.
  Histogram response;     ///< Planned to done, ns; equals service in closed mode.
  Histogram lag;          ///< Planned to start, ns; empty in closed mode.
  Nanoseconds window{0};  ///< Its real length.
  std::uint64_t items = 0;
  double mean_in_flight = 0;       ///< Time-weighted, for Little's law.
  Nanoseconds null_service{0};     ///< What the null subject cost per operation, CPU.
  double harness_share = 0;        ///< The harness' part of the CPU used, 0 to 1.
  Resources own;                   ///< Of our process.
  std::vector<Resources> servers;  ///< One for each of Options::server_pids.
  Validity validity;

  [[nodiscard]] double operations_per_second() const;
  [[nodiscard]] double items_per_second() const;
};

/// Runs `operation` under `options` against a subject whose coroutines run on a thread of their own, and returns when
/// everything was drained. Blocks the calling thread.
///
/// Errors: kInvalidArgument (an option out of range, named). A failing operation is in the ledger, not an error.
[[nodiscard]] Result<Report> run(const Options& options, asio::any_io_executor subject,
                                 const Operation& operation);

}  // namespace plimsoll::load
