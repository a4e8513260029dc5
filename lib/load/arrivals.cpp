#include "lib/load/arrivals.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>

namespace plimsoll::load {
namespace {

constexpr double kHighestRate = 1e9;  // Above it, gaps are shorter than the clock's nanosecond.
constexpr double kLowestRate = 1e-6;  // Below it, the first gaps leave the clock's range.

}  // namespace

Result<void> Arrivals::check() const {
  if (!std::isfinite(rate) || rate < kLowestRate || rate > kHighestRate) {
    return fail(Errc::kInvalidArgument,
                fmt::format("arrivals.rate is {} per second; an open run needs {:g} to {:g}", rate,
                            kLowestRate, kHighestRate));
  }
  if (ranks == 0 || rank >= ranks) {
    return fail(Errc::kInvalidArgument,
                fmt::format("arrivals.rank is {} of {}; it must be below the number of ranks", rank,
                            ranks));
  }
  return {};
}

ArrivalPlan::ArrivalPlan(const Arrivals& arrivals, std::uint64_t seed, TimePoint start)
    : arrivals_(arrivals), start_(start), rng_(seed), next_(start) {
  assert(arrivals.check());
  // A Poisson process has no arrival at its start; the first gap is drawn like every other.
  if (arrivals_.law == Arrivals::Law::kPoisson) offset_ns_ = rng_.exponential(1e9 / arrivals_.rate);
  for (std::uint32_t i = 0; i < arrivals_.rank; ++i) step();
  next_ = start_ + Nanoseconds(static_cast<std::int64_t>(offset_ns_));
}

TimePoint ArrivalPlan::pop() noexcept {
  const TimePoint due = next_;
  for (std::uint32_t i = 0; i < arrivals_.ranks; ++i) step();
  next_ = start_ + Nanoseconds(static_cast<std::int64_t>(offset_ns_));
  return due;
}

void ArrivalPlan::step() noexcept {
  ++index_;
  if (arrivals_.law == Arrivals::Law::kPoisson) {
    offset_ns_ += rng_.exponential(1e9 / arrivals_.rate);
  } else {
    // From the index, not from the last one: rounding must not add up to a drift.
    offset_ns_ = static_cast<double>(index_) * 1e9 / arrivals_.rate;
  }
}

}  // namespace plimsoll::load
