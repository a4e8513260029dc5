#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace plimsoll {

/// xoshiro256** 1.0 (Blackman and Vigna, 2018), seeded through SplitMix64. The same seed gives the
/// same sequence on every platform and library, which std's distributions do not promise. Not for
/// secrets.
///
/// Satisfies UniformRandomBitGenerator.
///
/// Thread safety: none. Use one per thread, with seeds from `fork`.
class Rng {
 public:
  using result_type = std::uint64_t;

  explicit Rng(std::uint64_t seed) noexcept;

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type max() noexcept {
    return std::numeric_limits<result_type>::max();
  }
  result_type operator()() noexcept;

  /// Uniform in [0, 1), with 53 bits.
  [[nodiscard]] double uniform() noexcept;

  /// Uniform in [0, bound), without modulo bias (Lemire, 2019). REQUIRES: bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept;

  /// Exponential with the given mean, in the unit of the mean. REQUIRES: mean > 0.
  [[nodiscard]] double exponential(double mean) noexcept;

  /// An independent generator for stream `index` of this seed: equal inputs give equal streams.
  [[nodiscard]] Rng fork(std::uint64_t index) const noexcept;

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace plimsoll
