#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll::pg {

/// Knows whether a transaction block is open and how many transactions were committed, from what
/// goes over the wire: command tags, statement texts and errors. libpq tells the state itself only
/// while nothing else is in flight.
///
/// A committed transaction counts when it holds a statement whose tag is not that of a read. The
/// tag of ROLLBACK TO SAVEPOINT is that of ROLLBACK, so the text tells them apart; inside a script,
/// where texts are not known one by one, it is taken for a ROLLBACK.
///
/// Thread safety: none. Errors: none.
class TransactionTracker {
 public:
  /// A statement succeeded. `sql` is its text; empty inside a script.
  void on_success(std::string_view tag, std::string_view sql) noexcept;
  /// A statement failed: up to the next Sync nothing else is executed.
  void on_error(std::string_view sql) noexcept;
  /// The server is ready again. `in_block` is what it says itself, where that is known.
  void on_sync(std::optional<bool> in_block) noexcept;

  [[nodiscard]] bool in_block() const noexcept { return in_block_; }
  [[nodiscard]] std::uint64_t commits() const noexcept { return commits_; }

 private:
  std::uint64_t commits_ = 0;
  bool in_block_ = false;
  bool wrote_ = false;
  bool failed_ = false;
};

/// True for tags that begin or end a transaction or a part of it.
[[nodiscard]] bool controls_transaction(std::string_view tag) noexcept;

/// True when the statement can be executed again after it failed, as part of a transaction that was
/// undone as a whole: a plain query or change of rows, told by its first word. CALL, DO and utility
/// statements may commit halfway.
[[nodiscard]] bool is_repeatable(std::string_view sql) noexcept;

}  // namespace plimsoll::pg
