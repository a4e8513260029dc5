#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace plimsoll::vault {

/// An immutable value that is replaced as a whole while threads read it.
///
/// A reader holds the snapshot it saw last and compares a generation number on each use: one load
/// from a cache line that nobody writes between two publications. Only the first use after a
/// publication takes the lock, to copy a pointer. (libstdc++ 12's std::atomic<std::shared_ptr> is a
/// lock on every read.)
///
/// A snapshot lives until the last reader has moved on; a reader that stays idle should `release`.
///
/// Thread safety: `publish` and `hold` from any thread. Reader: one thread each.
template <class T>
class Published {
 public:
  /// REQUIRES: not null, here and below.
  explicit Published(std::shared_ptr<const T> first) : value_(std::move(first)) {}

  void publish(std::shared_ptr<const T> next) {
    std::unique_lock lock(mutex_);
    value_.swap(next);
    generation_.fetch_add(1, std::memory_order_release);
    lock.unlock();  // `next` is the old value now: it may end here, outside the lock.
  }

  [[nodiscard]] std::shared_ptr<const T> hold() const {
    const std::scoped_lock lock(mutex_);
    return value_;
  }

  class Reader {
   public:
    /// `source` must outlive the reader.
    explicit Reader(const Published& source) noexcept : source_(&source) {}

    /// The newest value; valid until this reader's next call. About 1 ns.
    [[nodiscard]] const T& get() {
      if (generation_ != source_->generation_.load(std::memory_order_acquire)) [[unlikely]]
        refresh();
      return *value_;
    }

    /// Changes whenever `get` returned another value than before.
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

    /// Lets the snapshot go until the next `get`.
    void release() noexcept {
      value_.reset();
      generation_ = 0;
    }

   private:
    void refresh() {
      std::shared_ptr<const T> next;
      {
        const std::scoped_lock lock(source_->mutex_);
        next = source_->value_;
        generation_ = source_->generation_.load(std::memory_order_relaxed);
      }
      value_.swap(next);  // The old value may end here, outside the lock.
    }

    const Published* source_;
    std::uint64_t generation_ = 0;  // Published starts at 1.
    std::shared_ptr<const T> value_;
  };

 private:
  alignas(64) std::atomic<std::uint64_t> generation_{1};
  alignas(64) mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
};

}  // namespace plimsoll::vault
