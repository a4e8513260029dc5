#include "lib/load/histogram.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

namespace plimsoll::load {

void Histogram::record_outside(std::int64_t ns) noexcept {
  if (ns < 0) {
    ++negative_;
    ++buckets_[0];
    note(0);
  } else {
    ++saturated_;
    note(ns);
  }
}

std::uint64_t Histogram::count() const noexcept {
  return std::accumulate(buckets_.begin(), buckets_.end(), saturated_);
}

Histogram::Wide Histogram::wide_sum() const noexcept {
  return (static_cast<Wide>(carries_) << 64U) + static_cast<Wide>(sum_);
}

Nanoseconds Histogram::sum() const noexcept {
  constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
  return Nanoseconds(static_cast<std::int64_t>(std::min(wide_sum(), kMax)));
}

double Histogram::mean() const noexcept {
  return empty() ? 0.0 : static_cast<double>(wide_sum()) / static_cast<double>(count());
}

std::uint64_t Histogram::samples_needed(double q) {
  assert(q >= 0 && q < 1);
  // 20/(1-0.99) is 2000.0000000000018 in binary; the last bits must not ask for one sample more.
  return static_cast<std::uint64_t>(std::ceil(20.0 / (1.0 - q) * (1.0 - 1e-12)));
}

std::optional<Nanoseconds> Histogram::quantile(double q) const {
  if (count() < samples_needed(q)) return std::nullopt;
  return quantile_raw(q);
}

Nanoseconds Histogram::quantile_raw(double q) const {
  assert(q >= 0 && q <= 1);
  if (empty()) return Nanoseconds(0);
  const std::uint64_t all = count();
  const double exact_rank = q * static_cast<double>(all) * (1.0 - 1e-15);
  const auto rank =
      std::clamp(static_cast<std::uint64_t>(std::ceil(exact_rank)), std::uint64_t{1}, all);
  std::uint64_t seen = 0;
  for (std::uint32_t index = 0; index < kBuckets; ++index) {
    seen += buckets_[index];
    if (seen < rank) continue;
    const std::int64_t low = lower_edge(index);
    const std::int64_t middle = low + (upper_edge(index) - low) / 2;
    return Nanoseconds(std::clamp(middle, min_, max_));
  }
  return Nanoseconds(max_);  // Among the saturated, of which only the largest is known.
}

void Histogram::merge(const Histogram& other) noexcept {
  for (std::uint32_t index = 0; index < kBuckets; ++index) buckets_[index] += other.buckets_[index];
  saturated_ += other.saturated_;
  negative_ += other.negative_;
  const Wide sum = wide_sum() + other.wide_sum();
  sum_ = static_cast<std::uint64_t>(sum);
  carries_ = static_cast<std::uint64_t>(sum >> 64U);
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

Histogram Histogram::take() { return std::exchange(*this, Histogram()); }

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> filled;
  for (std::uint32_t index = 0; index < kBuckets; ++index) {
    if (buckets_[index] > 0) filled.push_back({index, buckets_[index]});
  }
  return filled;
}

Histogram::Parts Histogram::parts() const {
  return {kBits, count(), min(), max(), sum(), saturated_, buckets()};
}

Result<Histogram> Histogram::from_parts(const Parts& parts) {
  const auto corrupt = [](std::string what) {
    return fail(Errc::kCorrupt, "histogram: " + std::move(what));
  };
  if (parts.bits != kBits) {
    return corrupt(fmt::format("bits is {}, this build reads {}", parts.bits, kBits));
  }
  Histogram histogram;
  std::uint64_t total = parts.saturated;
  std::int64_t previous = -1;
  for (const auto& [index, count] : parts.buckets) {
    if (index >= kBuckets || static_cast<std::int64_t>(index) <= previous) {
      return corrupt(fmt::format("bucket index {} after {}; they must ascend and stay below {}",
                                 index, previous, kBuckets));
    }
    previous = index;
    histogram.buckets_[index] = count;
    total += count;
  }
  if (total != parts.count) {
    return corrupt(
        fmt::format("count is {}, but the buckets and saturated hold {}", parts.count, total));
  }
  if (parts.min > parts.max || parts.min.count() < 0 || parts.sum.count() < 0) {
    return corrupt(fmt::format("min {} ns, max {} ns and sum {} ns contradict each other",
                               parts.min.count(), parts.max.count(), parts.sum.count()));
  }
  histogram.saturated_ = parts.saturated;
  if (parts.count == 0) return histogram;
  histogram.sum_ = static_cast<std::uint64_t>(parts.sum.count());
  histogram.min_ = parts.min.count();
  histogram.max_ = parts.max.count();
  return histogram;
}

std::int64_t Histogram::lower_edge(std::uint32_t index) noexcept {
  const std::uint32_t octave = index < 2 * kSubBuckets ? 0 : (index >> unsigned{kBits}) - 1;
  return static_cast<std::int64_t>(index - (octave << unsigned{kBits})) << octave;
}

std::int64_t Histogram::upper_edge(std::uint32_t index) noexcept {
  const std::uint32_t octave = index < 2 * kSubBuckets ? 0 : (index >> unsigned{kBits}) - 1;
  return lower_edge(index) + (std::int64_t{1} << octave) - 1;
}

}  // namespace plimsoll::load
