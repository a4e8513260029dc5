#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/batch.hpp"
#include "lib/pg/batch_queue.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/pool.hpp"

namespace plimsoll::pg {

/// What became of one transaction of a batch.
struct LaneAnswer {
  LaneAnswer() = default;
  LaneAnswer(std::vector<Result<Rows>> answers, bool sent) noexcept
      : results(std::move(answers)), was_sent(sent) {}

  std::vector<Result<Rows>> results;  ///< As Connection::pipeline: one for each statement.
  bool was_sent = true;               ///< False: the server cannot have heard of it.
};

/// The way to the server: executes statements as one transaction, within a limit. Never throws.
using BatchLane = std::function<asio::awaitable<LaneAnswer>(std::vector<Query> queries,
                                                            std::chrono::milliseconds limit)>;

/// By a connection, which others may use beside. REQUIRES: it outlives the group commit, and no
/// transaction block is ever open on it.
[[nodiscard]] BatchLane lane_of(Connection& connection);

/// By a connection from the pool for each batch, so that one that broke is replaced. REQUIRES: the
/// pool outlives the group commit.
[[nodiscard]] BatchLane lane_of(Pool& pool);

struct GroupCommitConfig {
  BatchLimits batch;
  std::chrono::milliseconds statement_timeout{30000};  ///< Of one transaction of a batch.
  std::chrono::milliseconds item_timeout{30000};       ///< Of one caller, waiting included.
};

class CommitState;

/// Collects the items of concurrent callers and commits them together: what an idle server would do
/// in one commit each is one statement or one pipeline, one round trip and one fsync for all.
///
/// The window is the commit that is just on its way: each lane has one batch in flight, and what
/// comes meanwhile is the next one. An item that finds its lane idle is sent at the end of this
/// turn of the loop, with whatever else came in that turn; nobody waits for company unless
/// `max_delay` says so. batch_queue.hpp has the rules of sorting, folding and bisection, and what
/// the errors mean.
///
/// Items of one key always take the same lane, so they keep their order. A second lane pays where
/// the server's work on a batch is longer than its fsync.
///
/// A caller that is cancelled or runs out of time leaves its neighbours alone. If its item was not
/// sent yet it never is; otherwise the outcome is unknown to the caller, and the error says so
/// (`is_outcome_unknown`). Nothing is ever sent twice unless the server said that it was undone.
///
/// Cost: two allocations and a timer an item, and one turn of the loop between the answer of a
/// batch and its callers, in which they can ask for the next.
///
/// Thread safety: none; all calls on the executor given.
///
/// Errors: kBusy (the queue is full, at once), kTimeout, kCancelled, kUnavailable (closed, or the
/// connection's), kInternal (the writer), and by SQLSTATE what the server says.
class GroupCommit {
 public:
  /// REQUIRES: at least one lane.
  GroupCommit(asio::any_io_executor executor, BatchWriterPtr writer, std::vector<BatchLane> lanes,
              GroupCommitConfig config = {});
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;
  /// As close().
  ~GroupCommit();

  /// Returns when the item is committed, or will not be.
  [[nodiscard]] asio::awaitable<Result<BatchAnswer>> submit(BatchItem item,
                                                            Timeout timeout = std::nullopt);

  /// Refuses new items, sends all that wait, and returns when the last is answered. Errors:
  /// kTimeout, after which everything is as after close().
  [[nodiscard]] asio::awaitable<Result<void>> drain(std::chrono::milliseconds limit);

  /// Refuses new items, and those that are not in flight fail with kUnavailable, unwritten. What is
  /// in flight is still answered.
  void close();

  /// Items that wait for a batch, of all lanes.
  [[nodiscard]] std::size_t waiting() const noexcept;
  [[nodiscard]] BatchCounters counters() const noexcept;

 private:
  std::shared_ptr<CommitState> state_;
};

}  // namespace plimsoll::pg
