#pragma once

#include <atomic>
#include <exception>
#include <thread>

#include "bench/vault_crypto/material.hpp"
#include "bench/vault_crypto/stage.hpp"
#include "lib/core/clock.hpp"

namespace plimsoll::bench {

/// How many times an old key has begun to go, and has gone. A read during which `begun` is above
/// what `ended` was when the read began has met a retirement.
struct Retirements {
  std::atomic<std::int64_t> begun{0};
  std::atomic<std::int64_t> ended{0};
};

/// Updates the first kChanging secrets of a stage in turn, one a call.
class Changer {
 public:
  explicit Changer(Stage& stage);
  void update(Caller& caller);
  [[nodiscard]] std::int64_t updates() const noexcept { return updates_; }

 private:
  vault::SecretStore store_;
  std::array<std::uint64_t, kChanging> versions_;
  std::int64_t updates_ = 0;
};

/// A thread that rotates until it is told to stop, at least once, and updates a secret before and
/// after each batch.
class Rotator {
 public:
  explicit Rotator(Stage& stage) : changer_(stage), thread_([this, &stage] { work(stage); }) {}
  ~Rotator();

  /// Lets the rotation under way end. What ended the thread before its time, or null.
  [[nodiscard]] std::exception_ptr stop();
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] const Retirements& retirements() const noexcept { return retirements_; }

  /// These three after `stop`.
  [[nodiscard]] std::int64_t rotations() const noexcept { return rotations_; }
  [[nodiscard]] std::int64_t updates() const noexcept { return changer_.updates(); }
  /// Without the updates.
  [[nodiscard]] double mean_ms() const;

 private:
  void work(Stage& stage);
  void rotate(Stage& stage, Caller& caller);

  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  Retirements retirements_;
  Changer changer_;
  std::int64_t rotations_ = 0;
  Nanoseconds spent_{0};
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace plimsoll::bench
