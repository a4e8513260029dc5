#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"
#include "fixtures/infra.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::bench {

/// What one caller does while its write-ahead log is counted.
struct WalPass {
  /// TRUNCATEs (RESTART IDENTITY: a sequence logs every 32nd value) and fills the tables anew, and
  /// commits. Pages written after a checkpoint for the first time would carry images; fresh ones do
  /// not.
  std::function<Result<void>()> load;
  /// Does a fixed number of operations on one connection and closes it before it returns (its
  /// counts reach the server's statistics then). Returns how many.
  std::function<Result<std::uint64_t>()> run;
  /// How long other passes on the server may keep this one waiting.
  std::chrono::milliseconds patience{std::chrono::minutes{2}};
};

/// The cost of all operations of the pass together.
struct WalCost {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> commits{};  ///< That wrote something. Needs pg_walinspect.
  std::optional<std::uint64_t>
      prune_bytes{};  ///< Of pruning, which depends on what was read before; not in `bytes`.
  std::optional<std::uint64_t> fsyncs{};  ///< Of the log. PostgreSQL 18 counts them elsewhere.
  std::vector<std::string> issues{};  ///< Why a figure is less exact than it could be, or absent.
};

/// Runs the near-exact pass: CHECKPOINT, load, run, with autovacuum off, a WAL writer that sleeps,
/// and no checkpoint in between (three attempts, also where there were more fsyncs than commits).
/// The log is read by pg_walinspect: record lengths without page images, of the resource managers
/// that do the work, so that equal work gives equal bytes. Without the extension it is pg_stat_wal,
/// which page headers make less exact.
///
/// Passes of several processes wait for each other. Blocks.
///
/// Errors: kRefused when the server is not ours to disturb; kTimeout when another pass outlasted
/// `patience`; the pass's own errors; kUnavailable,
/// kRejected.
[[nodiscard]] Result<WalCost> measure_wal(const fixtures::Postgres& server, const WalPass& pass);

/// The same as counters of a case: `wal_bytes_per_op`, `commits_per_op`, `fsyncs_per_op`. On a
/// server that is not ours there is an issue instead; any other error fails the case.
void count_wal(Case& running, const fixtures::Postgres& server, const WalPass& pass);

}  // namespace plimsoll::bench
