#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::load {

/// Latencies in bounded memory: a log-linear histogram of nanoseconds.
///
/// Every power of two is cut into 128 equal buckets, so a quantile is within 1/128 of the exact
/// one, and values below 256 ns are exact. Count, minimum, maximum and sum are exact whatever was
/// recorded. Values above `kHighest` (about 73 minutes) are counted apart, in `saturated`, and
/// still enter count, maximum and sum. A negative value is a caller's clock going backwards: it is
/// recorded as 0 and counted in `negative`.
///
/// 36 KiB each. `record` is O(1), allocates nothing and costs two to three nanoseconds
/// (bench/load).
///
/// Thread safety: none. Use one per thread and merge.
/// Errors: only `from_parts`, which reads what somebody else wrote.
class Histogram {
 public:
  static constexpr int kBits = 7;
  static constexpr std::int64_t kHighest = (std::int64_t{1} << 42) - 1;

  /// One non-empty bucket.
  struct Bucket {
    std::uint32_t index;
    std::uint64_t count;
    friend bool operator==(const Bucket&, const Bucket&) = default;
  };

  /// What `from_parts` needs to build an equal histogram again: the fields of the result file.
  struct Parts {
    int bits = kBits;
    std::uint64_t count = 0;
    Nanoseconds min{0};
    Nanoseconds max{0};
    Nanoseconds sum{0};
    std::uint64_t saturated = 0;
    std::vector<Bucket> buckets;
  };

  Histogram() : buckets_(kBuckets, 0) {}

  void record(Nanoseconds value) noexcept {
    const std::int64_t ns = value.count();
    if (static_cast<std::uint64_t>(ns) > static_cast<std::uint64_t>(kHighest)) [[unlikely]] {
      record_outside(ns);
      return;
    }
    ++buckets_[index_of(ns)];
    note(ns);
  }

  /// O(buckets): `record` keeps no count of its own.
  [[nodiscard]] std::uint64_t count() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return min_ > max_; }
  /// 0 when empty, like `max` and `mean`.
  [[nodiscard]] Nanoseconds min() const noexcept { return Nanoseconds(empty() ? 0 : min_); }
  [[nodiscard]] Nanoseconds max() const noexcept { return Nanoseconds(max_); }
  /// Saturates at 292 years.
  [[nodiscard]] Nanoseconds sum() const noexcept;
  /// In nanoseconds.
  [[nodiscard]] double mean() const noexcept;
  [[nodiscard]] std::uint64_t saturated() const noexcept { return saturated_; }
  [[nodiscard]] std::uint64_t negative() const noexcept { return negative_; }

  /// How many samples the quantile q needs before it may be shown: 20/(1-q), e.g. 2,000 for p99.
  [[nodiscard]] static std::uint64_t samples_needed(double q);

  /// The smallest recorded value that at least q of all values do not exceed, within 1/128; nullopt
  /// with fewer than `samples_needed(q)` samples. O(buckets). REQUIRES: 0 <= q < 1.
  [[nodiscard]] std::optional<Nanoseconds> quantile(double q) const;

  /// The same however few samples there are; 0 when empty. For decisions, never for show.
  /// REQUIRES: 0 <= q <= 1.
  [[nodiscard]] Nanoseconds quantile_raw(double q) const;

  /// Adds what `other` holds. Associative and commutative, to the last bit.
  void merge(const Histogram& other) noexcept;

  /// What was recorded since the last call, leaving this empty: one histogram per interval.
  [[nodiscard]] Histogram take();

  /// The non-empty buckets, ascending: the form that is stored and sent.
  [[nodiscard]] std::vector<Bucket> buckets() const;

  [[nodiscard]] Parts parts() const;

  /// Errors: kCorrupt (another number of bits, an index out of range or not ascending, counts that
  /// do not add up, minimum above maximum), with the field and what it held.
  [[nodiscard]] static Result<Histogram> from_parts(const Parts& parts);

  /// The smallest and the largest value that fall into bucket `index`. REQUIRES: index < kBuckets.
  [[nodiscard]] static std::int64_t lower_edge(std::uint32_t index) noexcept;
  [[nodiscard]] static std::int64_t upper_edge(std::uint32_t index) noexcept;

  /// The bucket of a value. REQUIRES: 0 <= ns <= kHighest.
  [[nodiscard]] static std::uint32_t index_of(std::int64_t ns) noexcept {
    // Below 128 a value is its own index. From there each octave adds 128, and a double already
    // holds what is wanted side by side: the exponent and, beneath it, the leading bits of the
    // value. The conversion is exact up to 2^53. Without -mlzcnt it costs less than a bit scan.
    if (ns < kSubBuckets) return static_cast<std::uint32_t>(ns);
    constexpr unsigned kDropped = 52 - kBits;
    constexpr std::uint64_t kFirst = (std::uint64_t{1023} + kBits - 1) << unsigned{kBits};
    const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(ns));
    return static_cast<std::uint32_t>((bits >> kDropped) - kFirst);
  }

  static constexpr std::int64_t kSubBuckets = std::int64_t{1} << unsigned{kBits};
  static constexpr std::uint32_t kBuckets = (42 - kBits + 1) << unsigned{kBits};

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  __extension__ using Wide = __int128;  // So that no sum of 64-bit values overflows.

  [[nodiscard]] Wide wide_sum() const noexcept;
  void record_outside(std::int64_t ns) noexcept;
  void note(std::int64_t ns) noexcept {
    const auto value = static_cast<std::uint64_t>(ns);
    sum_ += value;
    // Branches that are almost never taken cost less than stores that the next call waits for.
    if (sum_ < value) [[unlikely]]
      ++carries_;
    if (ns < min_) [[unlikely]]
      min_ = ns;
    if (ns > max_) [[unlikely]]
      max_ = ns;
  }

  std::vector<std::uint64_t> buckets_;
  std::uint64_t saturated_ = 0;
  std::uint64_t negative_ = 0;
  std::uint64_t sum_ = 0;  // Its low 64 bits; `carries_` counts what went over.
  std::uint64_t carries_ = 0;
  std::int64_t min_ = std::numeric_limits<std::int64_t>::max();  // Above `max_` when empty.
  std::int64_t max_ = 0;
};

}  // namespace plimsoll::load
