#include "compare/ab/canary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "lib/core/clock.hpp"
#include "lib/core/rng.hpp"
#include "lib/core/statistics.hpp"

namespace plimsoll::compare {
namespace {

constexpr std::size_t kValues = 2000;
constexpr int kRounds = 60;
constexpr std::uint64_t kSeed = 1;

/// Tells the compiler that the work was wanted.
volatile std::uint64_t sink = 0;

std::uint64_t sort_and_format(Rng& rng) {
  std::array<std::uint64_t, kValues> values;
  for (auto& value : values) value = rng();
  std::sort(values.begin(), values.end());
  std::uint64_t sum = 0;
  std::array<char, 64> text;
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const auto end =
        fmt::format_to_n(text.data(), text.size(), "{}:{:x}", values[i], values[i + 1]);
    sum += end.size + static_cast<unsigned char>(text[end.size / 2]);
  }
  return sum;
}

}  // namespace

std::chrono::nanoseconds read_canary() {
  Rng rng(kSeed);               // The same values each time: the same work.
  sink = sort_and_format(rng);  // Code and tables into the caches that the last sample has emptied.
  const auto before = thread_cpu_time();
  std::uint64_t sum = 0;
  for (int round = 0; round < kRounds; ++round) sum += sort_and_format(rng);
  const auto spent = thread_cpu_time() - before;
  sink = sum;
  return spent;
}

void CanaryLog::add(std::chrono::nanoseconds reading) {
  readings_.push_back(static_cast<double>(reading.count()));
  const double low = quantile(readings_, 0.1);
  std::vector<double> calm;
  for (const double each : readings_) {
    if (std::abs(each / low - 1) <= kOff) calm.push_back(each);
  }
  calm_ns_ = calm.empty() ? low : median(calm);
}

double CanaryLog::relative(std::chrono::nanoseconds reading) const {
  return calm_ns_ > 0 ? static_cast<double>(reading.count()) / calm_ns_ : 1.0;
}

bool CanaryLog::off(std::chrono::nanoseconds reading) const {
  return std::abs(relative(reading) - 1) > kOff;
}

bool CanaryLog::disturbed(std::span<const std::chrono::nanoseconds> readings) const {
  const auto count = std::count_if(readings.begin(), readings.end(),
                                   [this](std::chrono::nanoseconds r) { return off(r); });
  return count >= 2 || (count == 1 && readings.size() == 1);
}

}  // namespace plimsoll::compare
