#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace plimsoll::vault {

/// Seals that one key may make with random 96-bit nonces: NIST SP 800-38D, section 8.3.
inline constexpr std::uint64_t kMaxSeals = std::uint64_t{1} << 32;

/// What is left of a key's seals, shared by every thread that uses the key.
///
/// Threads take in portions, a 65,536th of the limit and at most 1,024, so that they do not meet on
/// one cache line for each message; what a thread does not use it gives back. The sum of all
/// portions never exceeds the limit. The count is of this process; a count over processes is kept
/// by SecretStore, which grants in blocks out of the database.
///
/// Thread safety: all members, lock-free.
class SealBudget {
 public:
  explicit SealBudget(std::uint64_t limit = kMaxSeals) noexcept
      : portion_(std::clamp<std::uint64_t>(limit >> 16, 1, 1024)), left_(limit) {}

  /// A portion, or what is left of one; 0 when the key is used up.
  [[nodiscard]] std::uint64_t take() noexcept {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    while (left != 0) {
      const std::uint64_t taken = std::min(left, portion_);
      if (left_.compare_exchange_weak(left, left - taken, std::memory_order_relaxed)) return taken;
    }
    return 0;
  }
  void give_back(std::uint64_t unused) noexcept {
    left_.fetch_add(unused, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t left() const noexcept {
    return left_.load(std::memory_order_relaxed);
  }

 private:
  const std::uint64_t portion_;
  std::atomic<std::uint64_t> left_;
};

/// One thread's portion of a budget. It shares in the key that the budget belongs to, and so may
/// end after it.
///
/// Thread safety: none.
class SealAllowance {
 public:
  SealAllowance() = default;
  explicit SealAllowance(std::shared_ptr<SealBudget> budget) noexcept
      : budget_(std::move(budget)) {}
  SealAllowance(SealAllowance&& other) noexcept { swap(other); }
  SealAllowance& operator=(SealAllowance&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SealAllowance() {
    if (budget_ != nullptr) budget_->give_back(left_);
  }

  /// Counts one seal; false when the key is used up.
  [[nodiscard]] bool spend() noexcept {
    if (left_ == 0) left_ = budget_->take();
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  void swap(SealAllowance& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(left_, other.left_);
  }

  std::shared_ptr<SealBudget> budget_;
  std::uint64_t left_ = 0;
};

}  // namespace plimsoll::vault
