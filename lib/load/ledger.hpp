#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace plimsoll::load {

/// Where every planned operation went. Nothing may be missing:
///
///     planned = started + skipped
///     started = ok + busy + failed + timeout + indeterminate + in_flight
///     failed  = the sum of failed_by
///
/// An operation belongs to the window in which it was planned (closed: started), wherever it ended.
struct Ledger {
  std::uint64_t planned = 0;  ///< By the plan; in closed mode every one that a caller was to start.
  std::uint64_t started = 0;
  std::uint64_t ok = 0;
  std::uint64_t busy = 0;
  std::uint64_t failed = 0;
  std::uint64_t timeout = 0;
  std::uint64_t indeterminate = 0;  ///< Ended without knowing whether the work was done.
  std::uint64_t in_flight = 0;      ///< Started, and still open when the drain limit was reached.
  std::uint64_t skipped =
      0;                   ///< Never started: too late (open-skip), or left when the run gave up.
  std::uint64_t late = 0;  ///< Started, but more than `late_limit` after their planned time.
  std::map<std::string, std::uint64_t, std::less<>> failed_by{};  ///< Kind of failure to count.

  /// Ended, however.
  [[nodiscard]] std::uint64_t finished() const noexcept {
    return ok + busy + failed + timeout + indeterminate;
  }

  /// The first equation that does not hold, with both sides; nullopt when the ledger balances.
  [[nodiscard]] std::optional<std::string> imbalance() const;
  [[nodiscard]] bool balances() const { return !imbalance().has_value(); }

  /// Adds another generator's or window's ledger. Balanced plus balanced is balanced.
  void merge(const Ledger& other);

  friend bool operator==(const Ledger&, const Ledger&) = default;
};

}  // namespace plimsoll::load
