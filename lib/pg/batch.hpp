#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/core/result.hpp"
#include "lib/pg/query.hpp"
#include "lib/pg/rows.hpp"

namespace plimsoll::pg {

/// What one caller wants done in a common transaction with others' items (group_commit.hpp). Has
/// constructors for the reason told at Query.
struct BatchItem {
  BatchItem() = default;
  BatchItem(std::string of, Params what) noexcept : key(std::move(of)), values(std::move(what)) {}

  /// What the item writes to. Items of one key keep their order. Empty: it has no key.
  std::string key;
  Params values;  ///< What the batch's writer makes statements of; it alone knows the meaning.

  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// One caller's answer: a row of the statement that it shared with others, or the rows of its own.
///
/// Views point into the rows, which all answers of a batch hold together; keep the answer as long
/// as the views.
class BatchAnswer {
 public:
  /// Done, and without a row.
  BatchAnswer() = default;
  BatchAnswer(std::shared_ptr<const Rows> rows, std::optional<std::size_t> row) noexcept
      : rows_(std::move(rows)), row_(row) {}

  [[nodiscard]] bool has_row() const noexcept { return row_.has_value(); }
  /// nullopt for NULL and where there is no row or no such column.
  [[nodiscard]] std::optional<std::string_view> value(std::size_t column) const noexcept;
  /// Errors: as Rows::integer; kInvalidArgument where there is no row.
  [[nodiscard]] Result<std::int64_t> integer(std::size_t column) const;
  /// All rows of the statement; those of other callers among them where it was shared.
  [[nodiscard]] const Rows& rows() const noexcept;

  /// How many later items of the same key were folded onto this one: then theirs was written, and
  /// the row is theirs.
  [[nodiscard]] std::size_t newer() const noexcept { return newer_; }

 private:
  friend class BatchQueue;

  std::shared_ptr<const Rows> rows_;
  std::optional<std::size_t> row_;
  std::size_t newer_ = 0;
};

/// An item on its way, and later its answer. Whoever waits for it derives from this.
class BatchEntry {
 public:
  explicit BatchEntry(BatchItem item) noexcept : item_(std::move(item)) {}
  BatchEntry(const BatchEntry&) = delete;
  BatchEntry& operator=(const BatchEntry&) = delete;
  virtual ~BatchEntry() = default;

  [[nodiscard]] const BatchItem& item() const noexcept { return item_; }
  [[nodiscard]] bool is_done() const noexcept { return result_.has_value(); }
  /// REQUIRES: is_done().
  [[nodiscard]] Result<BatchAnswer>& result() noexcept { return *result_; }

 protected:
  /// Told once, when the result is there. May not call back into the queue.
  virtual void on_done() noexcept {}

 private:
  friend class BatchQueue;

  BatchItem item_;
  TimePoint added_{};
  std::optional<Result<BatchAnswer>> result_;
};
using BatchEntryPtr = std::shared_ptr<BatchEntry>;

/// One place in a batch: an item that is sent, and the older ones of its key that were folded onto
/// it.
class BatchSlot {
 public:
  explicit BatchSlot(BatchEntryPtr entry) { entries_.push_back(std::move(entry)); }

  [[nodiscard]] const BatchItem& item() const noexcept { return entries_.back()->item(); }
  /// Items that it stands for, at least 1.
  [[nodiscard]] std::size_t count() const noexcept { return entries_.size(); }

 private:
  friend class BatchQueue;

  std::vector<BatchEntryPtr> entries_;  ///< Oldest first.
};

/// One statement of a batch.
struct BatchStatement {
  BatchStatement() = default;
  BatchStatement(Query what, std::optional<std::size_t> whose = std::nullopt) noexcept
      : query(std::move(what)), slot(whose) {}

  Query query;
  std::optional<std::size_t> slot;  ///< Whose alone it is; nullopt: it stands for several.
};

/// How the items of a batch become SQL, and its answers theirs. All statements of a batch are one
/// transaction, so none may begin or end one.
///
/// Locks must be taken in the order of the slots, which are sorted by key: then two batches, of one
/// process or of two, cannot deadlock. A statement for several items inserts or updates them in
/// that order; several such statements in a batch (deletes, then sets) would begin anew with the
/// second, so give each kind a group commit of its own, or one statement for all.
///
/// Thread safety: const calls, one at a time, on the executor of the group commit. An exception
/// ends the batch with kInternal.
class BatchWriter {
 public:
  virtual ~BatchWriter() = default;

  /// The statements, at least one. Two slots have different keys, unless both are empty or the
  /// limits say SameKey::kKeep.
  [[nodiscard]] virtual std::vector<BatchStatement> write(
      std::span<const BatchSlot> slots) const = 0;

  /// An answer for each slot, from an answer for each statement; `owners` is BatchStatement::slot
  /// of each. Called after the commit, so an error here is told to all callers of the batch, but
  /// undoes nothing.
  [[nodiscard]] virtual Result<std::vector<BatchAnswer>> read(
      std::span<const BatchSlot> slots, std::span<const std::optional<std::size_t>> owners,
      std::vector<Rows> answers) const = 0;
};
using BatchWriterPtr = std::shared_ptr<const BatchWriter>;

/// A batch is one statement. Rows that it returns find their slot by the first column, which holds
/// the slot's ordinal from 1 on, as `unnest(...) WITH ORDINALITY` counts; a slot without a row is
/// done all the same.
[[nodiscard]] BatchWriterPtr one_statement(std::function<Query(std::span<const BatchSlot>)> build);

/// A batch is a pipeline: statements for each slot by itself, at least one. The answer is that of
/// the slot's last statement, and its row the first.
[[nodiscard]] BatchWriterPtr statements_of_each(
    std::function<std::vector<Query>(const BatchSlot&)> build);

/// For `one_statement`: parameter i is an array of the i-th values of all slots (NULL where a slot
/// has fewer), the one behind the last an array of their `count()`s.
[[nodiscard]] Params array_params(std::span<const BatchSlot> slots);

}  // namespace plimsoll::pg
