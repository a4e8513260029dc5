#include "lib/redis/call_queue.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace plimsoll::redis {

Batch::Batch(Command command) noexcept : one_(std::move(command)), size_(1) {}

Batch::Batch(std::vector<Command> commands) : many_(std::move(commands)), size_(many_.size()) {
  assert(size_ > 0);
  many_results_.resize(size_, one_result_);
}

std::span<const Command> Batch::commands() const noexcept {
  return many_results_.empty() ? std::span<const Command>(&one_, 1)
                               : std::span<const Command>(many_);
}

void Batch::forget_commands() noexcept {
  one_ = Command();
  many_ = {};
}

std::span<Result<Reply>> Batch::results() noexcept {
  return many_results_.empty() ? std::span(&one_result_, 1) : std::span(many_results_);
}

BatchPtr CallQueue::next_to_send() {
  if (waiting_.empty() || commands_in_flight_ >= max_in_flight_) return nullptr;
  auto batch = std::move(waiting_.front());
  waiting_.pop_front();
  batch->stage_ = Batch::Stage::kInFlight;
  in_flight_.push_back(batch);
  commands_in_flight_ += batch->size();
  ++counters_.round_trips;
  return batch;
}

void CallQueue::on_reply(Reply reply) {
  assert(has_in_flight());
  const auto& batch = in_flight_.front();
  --commands_in_flight_;
  ++counters_.commands;
  counters_.errors += reply.is_error() ? 1 : 0;
  if (!batch->is_abandoned_) {
    auto& result = batch->results()[batch->answered_];
    if (reply.is_error()) {
      result = fail(reply.error());
    } else {
      result = std::move(reply);
    }
  }
  if (++batch->answered_ < batch->size()) return;
  const auto whole = std::move(in_flight_.front());
  in_flight_.pop_front();
  finish(*whole);
}

void CallQueue::finish(Batch& batch) {
  batch.stage_ = Batch::Stage::kDone;
  if (!batch.is_abandoned_) batch.on_done();
}

CallQueue::Withdrawn CallQueue::withdraw(const BatchPtr& batch) {
  assert(!batch->is_done());
  batch->is_abandoned_ = true;
  if (batch->stage_ == Batch::Stage::kInFlight) return Withdrawn::kSent;
  waiting_.erase(std::ranges::find(waiting_, batch));
  finish(*batch);
  return Withdrawn::kUnsent;
}

void CallQueue::fail_all(const Error& error) {
  const auto end = [](std::deque<BatchPtr>& batches, const Error& why) {
    while (!batches.empty()) {
      const auto batch = std::move(batches.front());
      batches.pop_front();
      for (auto& result : batch->results().subspan(batch->answered_)) result = fail(why);
      finish(*batch);
    }
  };
  end(in_flight_, indeterminate(error));
  end(waiting_, not_sent(error));
  commands_in_flight_ = 0;
}

std::vector<BatchPtr> CallQueue::pending() const {
  std::vector<BatchPtr> batches(in_flight_.begin(), in_flight_.end());
  batches.insert(batches.end(), waiting_.begin(), waiting_.end());
  return batches;
}

Error indeterminate(Error error) {
  error.message += "; indeterminate: the server may have executed the command";
  return error;
}

Error not_sent(Error error) {
  error.message += "; the command was not sent";
  return error;
}

}  // namespace plimsoll::redis
