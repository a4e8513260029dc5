#pragma once

#include <chrono>
#include <cstdint>

#include "lib/core/rng.hpp"

namespace plimsoll::redis {

/// Pauses between attempts: each twice as long as the one before, up to a longest, and each cut by
/// a random part of at most a half, so that many clients of one server do not come back at once.
///
/// Thread safety: none.
class Backoff {
 public:
  /// REQUIRES: 0 < first <= longest.
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds longest,
          std::uint64_t seed) noexcept;

  /// The pause before the next attempt.
  [[nodiscard]] std::chrono::milliseconds next() noexcept;
  /// After a success.
  void reset() noexcept { whole_ = first_; }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds longest_;
  std::chrono::milliseconds whole_;
  Rng rng_;
};

}  // namespace plimsoll::redis
