#include "lib/pg/batch_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace plimsoll::pg {
namespace {

constexpr std::array<std::string_view, 9> kOfValues{"21", "22", "23",    "38", "39",
                                                    "44", "54", "42501", "P0"};
constexpr std::array<std::string_view, 2> kOfText{"42", "0A"};

bool begins_with_any(std::string_view sqlstate, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return sqlstate.starts_with(prefix); });
}

// An error that the server reported without ending the connection has undone the transaction. So
// has one of ours that kept everything from being sent.
bool is_undone(const BatchQueue::Failure& failure) noexcept {
  const Error& error = failure.error;
  if (!failure.was_sent || error.code == Errc::kInvalidArgument) return true;
  constexpr std::string_view kStatementCompletionUnknown = "40003";
  return !error.sqlstate.empty() && !error.poisons_connection() &&
         error.sqlstate != kStatementCompletionUnknown;
}

Error with_outcome(const BatchQueue::Failure& failure) {
  if (is_undone(failure)) return failure.error;
  std::string message = "the batch was on its way and may have been committed: ";
  message += failure.error.message;
  if (!failure.error.sqlstate.empty()) message += fmt::format(" ({})", failure.error.sqlstate);
  return {failure.error.code, std::move(message), std::string(kUnknownOutcome)};
}

}  // namespace

Blame blame_of(const Error& error, bool is_own_statement) noexcept {
  if (error.sqlstate.empty()) {
    return error.code == Errc::kInvalidArgument ? Blame::kItem : Blame::kNobody;
  }
  if (begins_with_any(error.sqlstate, kOfValues)) return Blame::kItem;
  if (is_own_statement && begins_with_any(error.sqlstate, kOfText)) return Blame::kItem;
  return Blame::kNobody;
}

BatchCounters& BatchCounters::operator+=(const BatchCounters& other) noexcept {
  items += other.items;
  batches += other.batches;
  transactions += other.transactions;
  folded += other.folded;
  poisoned += other.poisoned;
  refused += other.refused;
  return *this;
}

Result<void> BatchQueue::add(BatchEntryPtr entry, TimePoint now) {
  if (refusal_) return fail(*refusal_);
  const std::size_t bytes = entry->item().bytes();
  if (waiting_.size() >= limits_.max_waiting) {
    ++counters_.refused;
    return fail(Errc::kBusy, fmt::format("{} items wait already, as many as may; nothing was sent",
                                         waiting_.size()));
  }
  if (!waiting_.empty() && waiting_bytes_ + bytes > limits_.max_waiting_bytes) {
    ++counters_.refused;
    return fail(Errc::kBusy,
                fmt::format("{} bytes wait already and {} more would be over {}; nothing was sent",
                            waiting_bytes_, bytes, limits_.max_waiting_bytes));
  }
  entry->added_ = now;
  waiting_bytes_ += bytes;
  waiting_.push_back(std::move(entry));
  return {};
}

bool BatchQueue::withdraw(const BatchEntryPtr& entry) {
  const auto found = std::ranges::find(waiting_, entry);
  if (found == waiting_.end()) return false;
  waiting_bytes_ -= entry->item().bytes();
  waiting_.erase(found);
  return true;
}

bool BatchQueue::is_full() const noexcept {
  return waiting_.size() >= limits_.max_items || waiting_bytes_ >= limits_.max_bytes;
}

std::optional<TimePoint> BatchQueue::due() const noexcept {
  if (in_flight_) return std::nullopt;
  if (!parts_.empty()) return TimePoint::min();
  if (waiting_.empty()) return std::nullopt;
  if (refusal_ || is_full()) return TimePoint::min();
  return waiting_.front()->added_ + limits_.max_delay;
}

std::span<const BatchSlot> BatchQueue::begin(TimePoint now) {
  const auto when = due();
  if (!when || *when > now) return {};
  if (parts_.empty()) parts_.push_back(collect());
  in_flight_ = true;
  ++counters_.transactions;
  return parts_.front();
}

// The oldest items that fit; those that have to wait for the next batch stay in their order.
std::vector<BatchEntryPtr> BatchQueue::take_waiting() {
  std::vector<BatchEntryPtr> taken;
  std::deque<BatchEntryPtr> left;
  std::unordered_set<std::string_view> keys;
  std::size_t bytes = 0;
  while (!waiting_.empty() && taken.size() < limits_.max_items) {
    auto& entry = waiting_.front();
    const auto& item = entry->item();
    const std::size_t size = item.bytes();
    const bool must_wait = limits_.same_key == SameKey::kNextBatch && !item.key.empty() &&
                           !keys.insert(item.key).second;
    if (must_wait) {
      left.push_back(std::move(entry));
    } else {
      if (!taken.empty() && bytes + size > limits_.max_bytes) break;
      bytes += size;
      taken.push_back(std::move(entry));
    }
    waiting_.pop_front();
  }
  waiting_.insert(waiting_.begin(), std::make_move_iterator(left.begin()),
                  std::make_move_iterator(left.end()));
  waiting_bytes_ -= bytes;
  return taken;
}

BatchQueue::Part BatchQueue::collect() {
  auto entries = take_waiting();
  counters_.items += entries.size();
  ++counters_.batches;
  std::ranges::stable_sort(entries, {}, [](const BatchEntryPtr& entry) -> const std::string& {
    return entry->item().key;
  });
  Part part;
  part.reserve(entries.size());
  for (auto& entry : entries) {
    const auto& key = entry->item().key;
    if (limits_.same_key == SameKey::kFold && !key.empty() && !part.empty() &&
        part.back().item().key == key) {
      ++counters_.folded;
      part.back().entries_.push_back(std::move(entry));
    } else {
      part.emplace_back(std::move(entry));
    }
  }
  return part;
}

void BatchQueue::finish(BatchEntry& entry, Result<BatchAnswer> result) noexcept {
  entry.result_.emplace(std::move(result));
  entry.on_done();
}

void BatchQueue::fail_all(const Part& part, const Error& error) {
  for (const auto& slot : part) {
    for (const auto& entry : slot.entries_) finish(*entry, fail(error));
  }
}

void BatchQueue::on_committed(Result<std::vector<BatchAnswer>> answers) {
  const Part part = std::move(parts_.front());
  parts_.pop_front();
  in_flight_ = false;
  if (!answers) return fail_all(part, answers.error());
  if (answers->size() != part.size()) {
    return fail_all(part, {Errc::kInternal,
                           fmt::format("the batch was committed, but its writer made {} answers "
                                       "for {} slots",
                                       answers->size(), part.size()),
                           {}});
  }
  for (std::size_t i = 0; i < part.size(); ++i) {
    const auto& entries = part[i].entries_;
    for (std::size_t k = 0; k < entries.size(); ++k) {
      BatchAnswer answer = (*answers)[i];
      answer.newer_ = entries.size() - 1 - k;
      finish(*entries[k], std::move(answer));
    }
  }
}

void BatchQueue::on_failed(Failure failure) {
  Part part = std::move(parts_.front());
  parts_.pop_front();
  in_flight_ = false;
  if (blame_of(failure.error, failure.slot.has_value()) == Blame::kNobody) {
    return fail_all(part, with_outcome(failure));
  }
  if (part.size() == 1) {
    blame_newest(std::move(part), std::move(failure.error));
  } else {
    split(std::move(part), failure.slot);
  }
  // Nothing is sent any more, and what failed was undone.
  if (is_closed_) close(*refusal_);
}

void BatchQueue::blame_newest(Part part, Error error) {
  auto& entries = part.front().entries_;
  ++counters_.poisoned;
  finish(*entries.back(), fail(std::move(error)));
  entries.pop_back();
  if (!entries.empty()) parts_.push_front(std::move(part));
}

void BatchQueue::split(Part part, std::optional<std::size_t> culprit) {
  // Behind the last statement stands the commit, whose errors (a deferred constraint) are reported
  // as that statement's: then it need not be the culprit.
  std::vector<std::size_t> ends;
  if (culprit && *culprit + 1 < part.size()) {
    if (*culprit > 0) ends.push_back(*culprit);
    ends.push_back(*culprit + 1);
  } else {
    ends.push_back(part.size() / 2);
  }
  ends.push_back(part.size());
  std::vector<Part> pieces;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    auto& piece = pieces.emplace_back();
    piece.reserve(end - begin);
    for (; begin < end; ++begin) piece.push_back(std::move(part[begin]));
  }
  parts_.insert(parts_.begin(), std::make_move_iterator(pieces.begin()),
                std::make_move_iterator(pieces.end()));
}

void BatchQueue::refuse(Error why) {
  if (!refusal_) refusal_ = std::move(why);
}

void BatchQueue::close(const Error& why) {
  const Error reason = why;  // It may be `refusal_` itself.
  is_closed_ = true;
  refusal_ = reason;
  std::deque<Part> undone = std::exchange(parts_, {});
  if (in_flight_) {
    parts_.push_back(std::move(undone.front()));
    undone.pop_front();
  }
  for (const auto& part : undone) fail_all(part, reason);
  for (const auto& entry : std::exchange(waiting_, {})) finish(*entry, fail(reason));
  waiting_bytes_ = 0;
}

}  // namespace plimsoll::pg
