#include "lib/core/canary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "lib/core/clock.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll {
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

}  // namespace plimsoll
