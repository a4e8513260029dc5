#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/core/result.hpp"
#include "lib/pg/batch.hpp"
#include "lib/pg/outcome.hpp"

namespace plimsoll::pg {

/// What becomes of several items of one key that meet in a batch. Items without a key never meet.
enum class SameKey {
  kFold,       ///< The last one is sent and stands for all: what a set means.
  kKeep,       ///< All are sent, in their order: for statements of their own, or plain inserts.
  kNextBatch,  ///< The later one waits for the next batch: for what looks at the earlier one's
               ///< effect, such as compare-and-set.
};

struct BatchLimits {
  std::size_t max_items = 256;      ///< A batch closes at so many.
  std::size_t max_bytes = 1 << 20;  ///< Or before it is larger; a larger item travels alone.
  std::size_t max_waiting = 8192;   ///< Items in the queue; beyond it kBusy.
  std::size_t max_waiting_bytes = 64 << 20;
  /// How long an item may wait for company although nothing is in flight. 0: not at all.
  std::chrono::microseconds max_delay{0};
  SameKey same_key = SameKey::kFold;
};

/// Whom an error of a batch concerns.
enum class Blame {
  kItem,    ///< One item's values: it is looked for, and the others are sent again.
  kNobody,  ///< The server, the connection, other transactions: all callers are told.
};

/// By SQLSTATE: 21, 22, 23, 38, 39, 42501, 44, 54 and P0 speak of values. 42 and 0A speak of the
/// statement's text, so of an item only where that has a statement of its own. Everything else
/// (40, 53, 55, 57, ...) is nobody's. Without an SQLSTATE: kInvalidArgument is an item's.
[[nodiscard]] Blame blame_of(const Error& error, bool is_own_statement) noexcept;

/// What a queue did since it was made.
struct BatchCounters {
  std::uint64_t items = 0;         ///< Taken into batches.
  std::uint64_t batches = 0;       ///< Closed.
  std::uint64_t transactions = 0;  ///< Sent: each batch, and each part of one that failed.
  std::uint64_t folded = 0;        ///< Items for which a later one was sent.
  std::uint64_t poisoned = 0;      ///< Items that failed alone.
  std::uint64_t refused = 0;       ///< kBusy.

  BatchCounters& operator+=(const BatchCounters& other) noexcept;
  friend bool operator==(const BatchCounters&, const BatchCounters&) = default;
};

/// When items become a batch, in which order, and what each answer means for whom. Plain state: no
/// socket, no clock, no coroutine, so that every rule is tested without a server.
///
/// Rules. One batch at a time is in flight; what comes meanwhile is the next one. A batch is sorted
/// by key; equal keys keep their order. When a batch fails by an item's fault, all of it was
/// undone; it is then sent again in parts, one after the other: around the item whose own statement
/// failed, else in halves, until the item is alone. Folded items that fail lose the newest, and are
/// sent again with the value before. An error that is nobody's fault ends the part that met it and
/// is never followed by another try. Where the part was on its way and the server did not say that
/// it was undone, the error's SQLSTATE is kUnknownOutcome.
///
/// Thread safety: none.
class BatchQueue {
 public:
  explicit BatchQueue(BatchLimits limits) noexcept : limits_(limits) {}

  /// Puts an item at the end. Errors: kBusy (a limit), and what `refuse` or `close` were told.
  [[nodiscard]] Result<void> add(BatchEntryPtr entry, TimePoint now);

  /// The caller gives up. True: the item was still waiting and will never be sent. False: it is
  /// part of a batch, which goes on as if nothing had happened.
  bool withdraw(const BatchEntryPtr& entry);

  /// The slots to send now; they are then in flight. Empty: something is in flight already, nothing
  /// waits, or it is not yet `due`. They stay until the next answer.
  [[nodiscard]] std::span<const BatchSlot> begin(TimePoint now);
  /// When `begin` will have something, if nothing else happens; nullopt: not by itself.
  [[nodiscard]] std::optional<TimePoint> due() const noexcept;

  /// What was in flight is committed: an answer for each slot, or why they cannot be read.
  /// REQUIRES: begin() returned slots that have not been answered.
  void on_committed(Result<std::vector<BatchAnswer>> answers);

  struct Failure {
    Error error;
    std::optional<std::size_t> slot{};  ///< Whose own statement failed.
    bool was_sent = true;               ///< False: the server cannot have heard of it.
  };
  /// REQUIRES: as on_committed.
  void on_failed(Failure failure);

  /// From now on `add` fails with this; what waits is due at once.
  void refuse(Error why);
  /// The same, and what waits, or was undone and not yet sent again, ends with this error.
  void close(const Error& why);

  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  [[nodiscard]] bool is_idle() const noexcept { return waiting_.empty() && parts_.empty(); }
  [[nodiscard]] const BatchCounters& counters() const noexcept { return counters_; }

 private:
  using Part = std::vector<BatchSlot>;

  [[nodiscard]] bool is_full() const noexcept;
  [[nodiscard]] Part collect();
  [[nodiscard]] std::vector<BatchEntryPtr> take_waiting();
  void split(Part part, std::optional<std::size_t> culprit);
  void blame_newest(Part part, Error error);
  static void finish(BatchEntry& entry, Result<BatchAnswer> result) noexcept;
  static void fail_all(const Part& part, const Error& error);

  BatchLimits limits_;
  std::deque<BatchEntryPtr> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::deque<Part> parts_;  ///< Of the present batch; the first is in flight, or next.
  bool in_flight_ = false;
  bool is_closed_ = false;
  std::optional<Error> refusal_;
  BatchCounters counters_;
};

}  // namespace plimsoll::pg
