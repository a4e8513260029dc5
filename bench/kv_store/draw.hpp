#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lib/core/rng.hpp"

namespace plimsoll::bench {

/// Which place the next operation goes to: each alike, or by Zipf's law with exponent 0.99, as YCSB
/// has it, where one place in a thousand takes a tenth of all. Popular places do not lie together.
///
/// Thread safety: const calls from any thread.
class Draw {
 public:
  enum class Law { kUniform, kZipf };

  /// REQUIRES: places > 0. Cost of Zipf's: a double a place.
  Draw(Law law, std::size_t places);

  [[nodiscard]] std::size_t operator()(Rng& rng) const noexcept;

 private:
  std::size_t places_;
  std::vector<double> up_to_;  ///< Share of the ranks up to each; empty: uniform.
};

}  // namespace plimsoll::bench
