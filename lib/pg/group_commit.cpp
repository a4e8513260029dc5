#include "lib/pg/group_commit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cassert>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/core/clock.hpp"
#include "lib/core/units.hpp"
#include "lib/core/with_timeout.hpp"

namespace plimsoll::pg {

using std::chrono::milliseconds;

namespace {

constexpr auto kLongest = std::chrono::hours(24 * 365);  // What a clock can add without overflow.

TimePoint deadline_in(milliseconds limit) {
  return Clock::now() + std::min<Nanoseconds>(limit, kLongest);
}

asio::awaitable<LaneAnswer> send_by(Connection* connection, std::vector<Query> queries,
                                    milliseconds limit) {
  const bool was_open = connection->is_open();
  std::vector<Result<Rows>> results = co_await connection->pipeline(std::move(queries), limit);
  co_return LaneAnswer(std::move(results), was_open);
}

asio::awaitable<LaneAnswer> send_by_pool(Pool* pool, std::vector<Query> queries,
                                         milliseconds limit) {
  const std::size_t count = queries.size();
  Result<PooledConnection> loan = co_await pool->acquire(limit);
  if (!loan) {
    std::vector<Result<Rows>> refused;
    for (std::size_t i = 0; i < count; ++i) refused.emplace_back(fail(loan.error()));
    co_return LaneAnswer(std::move(refused), false);
  }
  LaneAnswer answer = co_await send_by(&**loan, std::move(queries), limit);
  co_return answer;
}

// An item and the coroutine that waits for it.
class Waiting final : public BatchEntry {
 public:
  Waiting(const asio::any_io_executor& executor, BatchItem item)
      : BatchEntry(std::move(item)), timer_(executor) {}

  [[nodiscard]] asio::steady_timer& timer() noexcept { return timer_; }

 private:
  void on_done() noexcept override { timer_.cancel(); }

  asio::steady_timer timer_;
};

}  // namespace

BatchLane lane_of(Connection& connection) {
  return [&connection](std::vector<Query> queries, milliseconds limit) {
    return send_by(&connection, std::move(queries), limit);
  };
}

BatchLane lane_of(Pool& pool) {
  return [&pool](std::vector<Query> queries, milliseconds limit) {
    return send_by_pool(&pool, std::move(queries), limit);
  };
}

// Lives as long as its GroupCommit, a lane at work or a caller that waits.
class CommitState : public std::enable_shared_from_this<CommitState> {
 public:
  CommitState(asio::any_io_executor executor, BatchWriterPtr writer, std::vector<BatchLane> lanes,
              const GroupCommitConfig& config)
      : executor_(std::move(executor)), writer_(std::move(writer)), config_(config) {
    assert(!lanes.empty());
    for (auto& lane : lanes) {
      lanes_.push_back(std::make_unique<Lane>(executor_, std::move(lane), config_.batch));
    }
  }

  static asio::awaitable<Result<BatchAnswer>> submit(std::shared_ptr<CommitState> self,
                                                     BatchItem item, Timeout timeout);
  static asio::awaitable<Result<void>> drain(std::shared_ptr<CommitState> self, milliseconds limit);
  void close(const Error& why);
  [[nodiscard]] std::size_t waiting() const noexcept;
  [[nodiscard]] BatchCounters counters() const noexcept;

 private:
  struct Lane {
    Lane(const asio::any_io_executor& executor, BatchLane way, const BatchLimits& limits)
        : send(std::move(way)), queue(limits), delay(executor) {}

    BatchLane send;
    BatchQueue queue;
    asio::steady_timer delay;  ///< Armed while items wait for company.
    bool is_working = false;
  };
  // A batch in the words of a lane.
  struct Transaction {
    std::vector<Query> queries;
    std::vector<std::optional<std::size_t>> owners;
  };

  static asio::awaitable<void> work(std::shared_ptr<CommitState> self, Lane* lane);
  [[nodiscard]] Lane& lane_for(const std::string& key) noexcept;
  void wake(Lane& lane);
  [[nodiscard]] Result<Transaction> write(std::span<const BatchSlot> slots) const;
  void take(Lane& lane, std::span<const BatchSlot> slots,
            const std::vector<std::optional<std::size_t>>& owners, LaneAnswer answer);
  [[nodiscard]] Result<std::vector<BatchAnswer>> read(
      std::span<const BatchSlot> slots, const std::vector<std::optional<std::size_t>>& owners,
      std::vector<Rows> answers) const;
  [[nodiscard]] bool is_idle() const noexcept;

  asio::any_io_executor executor_;
  BatchWriterPtr writer_;
  GroupCommitConfig config_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::shared_ptr<asio::steady_timer>> drains_;  ///< Told when all is idle.
};

asio::awaitable<Result<BatchAnswer>> CommitState::submit(std::shared_ptr<CommitState> self,
                                                         BatchItem item, Timeout timeout) {
  const auto limit = timeout.value_or(self->config_.item_timeout);
  Lane& lane = self->lane_for(item.key);
  const auto entry = std::make_shared<Waiting>(self->executor_, std::move(item));
  if (auto added = lane.queue.add(entry, Clock::now()); !added) {
    co_return fail(std::move(added.error()));
  }
  self->wake(lane);
  entry->timer().expires_at(deadline_in(limit));
  const auto [cancelled] = co_await entry->timer().async_wait(kAsValue);
  if (entry->is_done()) co_return std::move(entry->result());
  const bool is_unwritten = lane.queue.withdraw(entry);
  Error error{cancelled ? Errc::kCancelled : Errc::kTimeout, {}, {}};
  error.message = cancelled ? "the caller gave up before the answer came"
                            : fmt::format("no answer within {}", format_duration(limit));
  if (is_unwritten) {
    error.message += "; the item was not sent";
  } else {
    error.message += "; the item's batch was on its way and may be committed";
    error.sqlstate = kUnknownOutcome;
  }
  co_return fail(std::move(error));
}

CommitState::Lane& CommitState::lane_for(const std::string& key) noexcept {
  if (lanes_.size() == 1) return *lanes_.front();
  if (!key.empty()) return *lanes_[std::hash<std::string>{}(key) % lanes_.size()];
  return **std::ranges::min_element(lanes_, {},
                                    [](const auto& lane) { return lane->queue.waiting(); });
}

void CommitState::wake(Lane& lane) {
  if (lane.is_working) {
    const auto due = lane.queue.due();
    if (due && *due <= Clock::now()) lane.delay.cancel();
    return;
  }
  lane.is_working = true;
  asio::co_spawn(executor_, work(shared_from_this(), &lane), asio::detached);
}

// One at a time for each lane, as long as it has something to do.
asio::awaitable<void> CommitState::work(std::shared_ptr<CommitState> self, Lane* lane) {
  while (!lane->queue.is_idle()) {
    // Whoever was just answered comes before us in the loop's queue: what they ask next is part of
    // this batch.
    co_await asio::post(self->executor_, asio::use_awaitable);
    const auto slots = lane->queue.begin(Clock::now());
    if (slots.empty()) {
      const auto due = lane->queue.due();
      if (!due) continue;
      lane->delay.expires_at(*due);
      [[maybe_unused]] const auto waited = co_await lane->delay.async_wait(kAsValue);
      continue;
    }
    Result<Transaction> transaction = self->write(slots);
    if (!transaction) {
      lane->queue.on_failed({std::move(transaction.error()), std::nullopt, false});
      continue;
    }
    LaneAnswer answer =
        co_await lane->send(std::move(transaction->queries), self->config_.statement_timeout);
    self->take(*lane, slots, transaction->owners, std::move(answer));
  }
  lane->is_working = false;
  if (!self->is_idle()) co_return;
  for (const auto& drained : self->drains_) drained->cancel();
}

Result<CommitState::Transaction> CommitState::write(std::span<const BatchSlot> slots) const {
  Transaction transaction;
  try {
    for (auto& statement : writer_->write(slots)) {
      transaction.queries.push_back(std::move(statement.query));
      transaction.owners.push_back(statement.slot);
    }
  } catch (const std::exception& thrown) {
    return fail(Errc::kInternal, fmt::format("the batch's writer threw: {}", thrown.what()));
  }
  if (transaction.queries.empty()) {
    return fail(Errc::kInternal, "the batch's writer wrote no statement");
  }
  return transaction;
}

void CommitState::take(Lane& lane, std::span<const BatchSlot> slots,
                       const std::vector<std::optional<std::size_t>>& owners, LaneAnswer answer) {
  std::vector<Rows> rows;
  rows.reserve(owners.size());
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    auto& result = answer.results[i];
    if (!result) {
      const auto owner = i < owners.size() ? owners[i] : std::nullopt;
      return lane.queue.on_failed({std::move(result.error()), owner, answer.was_sent});
    }
    rows.push_back(std::move(*result));
  }
  if (rows.size() != owners.size()) {
    return lane.queue.on_failed(
        {{Errc::kInternal,
          fmt::format("the lane gave {} answers to {} statements", rows.size(), owners.size()),
          {}},
         std::nullopt,
         answer.was_sent});
  }
  lane.queue.on_committed(read(slots, owners, std::move(rows)));
}

Result<std::vector<BatchAnswer>> CommitState::read(
    std::span<const BatchSlot> slots, const std::vector<std::optional<std::size_t>>& owners,
    std::vector<Rows> answers) const {
  try {
    return writer_->read(slots, owners, std::move(answers));
  } catch (const std::exception& thrown) {
    return fail(Errc::kInternal,
                fmt::format("the batch was committed, but its writer threw: {}", thrown.what()));
  }
}

asio::awaitable<Result<void>> CommitState::drain(std::shared_ptr<CommitState> self,
                                                 milliseconds limit) {
  for (const auto& lane : self->lanes_) {
    lane->queue.refuse(
        {Errc::kUnavailable, "the group commit is shutting down; nothing was sent", {}});
    lane->delay.cancel();
  }
  if (self->is_idle()) co_return Result<void>{};
  const auto drained = std::make_shared<asio::steady_timer>(self->executor_, deadline_in(limit));
  self->drains_.push_back(drained);
  [[maybe_unused]] const auto waited = co_await drained->async_wait(kAsValue);
  std::erase(self->drains_, drained);
  if (self->is_idle()) co_return Result<void>{};
  self->close({Errc::kUnavailable, "the group commit was shut down; the item was not written", {}});
  co_return fail(Errc::kTimeout,
                 fmt::format("a batch was still on its way after {}", format_duration(limit)));
}

void CommitState::close(const Error& why) {
  for (const auto& lane : lanes_) {
    lane->queue.close(why);
    lane->delay.cancel();
  }
}

bool CommitState::is_idle() const noexcept {
  return std::ranges::none_of(
      lanes_, [](const auto& lane) { return lane->is_working || !lane->queue.is_idle(); });
}

std::size_t CommitState::waiting() const noexcept {
  std::size_t total = 0;
  for (const auto& lane : lanes_) total += lane->queue.waiting();
  return total;
}

BatchCounters CommitState::counters() const noexcept {
  BatchCounters total;
  for (const auto& lane : lanes_) total += lane->queue.counters();
  return total;
}

GroupCommit::GroupCommit(asio::any_io_executor executor, BatchWriterPtr writer,
                         std::vector<BatchLane> lanes, GroupCommitConfig config)
    : state_(std::make_shared<CommitState>(std::move(executor), std::move(writer), std::move(lanes),
                                           config)) {}

GroupCommit::~GroupCommit() { close(); }

asio::awaitable<Result<BatchAnswer>> GroupCommit::submit(BatchItem item, Timeout timeout) {
  return CommitState::submit(state_, std::move(item), timeout);
}

asio::awaitable<Result<void>> GroupCommit::drain(milliseconds limit) {
  return CommitState::drain(state_, limit);
}

void GroupCommit::close() {
  state_->close({Errc::kUnavailable,
                 "the group commit was closed by its owner; the item was not written",
                 {}});
}

std::size_t GroupCommit::waiting() const noexcept { return state_->waiting(); }

BatchCounters GroupCommit::counters() const noexcept { return state_->counters(); }

}  // namespace plimsoll::pg
