#pragma once

#include <cstdint>

#include "lib/core/clock.hpp"
#include "lib/core/result.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::load {

/// When the operations of an open run are planned. One plan belongs to all generators together:
/// `rank` of `ranks` takes every `ranks`-th arrival, so that one generator and N generators with
/// the same seed offer the same arrivals.
struct Arrivals {
  enum class Law {
    kConstant,  ///< Equal gaps.
    kPoisson,   ///< Exponential gaps: independent users.
  };
  Law law = Law::kConstant;
  double rate = 0;  ///< Arrivals per second of all ranks together.
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;

  /// Errors: kInvalidArgument, with the field and its value.
  [[nodiscard]] Result<void> check() const;
};

/// The arrivals of one rank, one after the other, generated as they are asked for.
///
/// Constant memory. `pop` costs about 10 ns times `ranks`: a Poisson plan draws the others' gaps
/// too.
///
/// Thread safety: none.
class ArrivalPlan {
 public:
  /// REQUIRES: arrivals.check().
  ArrivalPlan(const Arrivals& arrivals, std::uint64_t seed, TimePoint start);

  /// When the next arrival is due.
  [[nodiscard]] TimePoint peek() const noexcept { return next_; }

  /// Its place in the plan of all ranks, from 0.
  [[nodiscard]] std::uint64_t index() const noexcept { return index_; }

  /// Returns `peek()` and goes on to the one after it.
  TimePoint pop() noexcept;

 private:
  void step() noexcept;

  Arrivals arrivals_;
  TimePoint start_;
  Rng rng_;
  std::uint64_t index_ = 0;
  double offset_ns_ =
      0;  // Of the arrival `index_`, from the start; a double holds 104 days exactly.
  TimePoint next_;
};

}  // namespace plimsoll::load
