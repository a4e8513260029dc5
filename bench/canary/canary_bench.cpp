// Question: does this machine, in this minute, run code at the speed at which it usually does?
// Method:   three kernels without any product code. Sorting and formatting keep every execution
// unit of a core busy, so
//           that a neighbour on its sibling thread shows in them and in nothing else the guest
//           could read; a chain of dependent arithmetic would not move. The walk through memory
//           misses every cache.
// Expect:   the same as ever, at each of the speeds that a shared machine has. What the verdicts
//           depend on is read beside each case by the harness (`canary_ns`, docs/adr/0008).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::bench {

const std::string_view kGroup = "canary";

namespace {

// Fixed, whatever the run's seed: a canary is compared with itself.
constexpr std::uint64_t kSeed = 20261130;

void sort_integers(Case& c) {
  constexpr std::size_t kCount = 2000;
  Rng rng(kSeed);
  std::vector<std::uint64_t> shuffled(kCount);
  std::generate(shuffled.begin(), shuffled.end(), rng);
  std::vector<std::uint64_t> work;
  work.reserve(kCount);
  for (auto _ : c.state()) {
    work.assign(shuffled.begin(), shuffled.end());
    std::sort(work.begin(), work.end());
    benchmark::DoNotOptimize(work.data());
  }
  if (!std::is_sorted(work.begin(), work.end())) c.fail("wrong: the numbers are not in order");
}

void format_records(Case& c) {
  constexpr std::size_t kCount = 64;
  Rng rng(kSeed);
  std::array<std::uint64_t, kCount> ids{};
  std::array<double, kCount> values{};
  for (std::size_t i = 0; i < kCount; ++i) {
    ids[i] = rng() >> 20;
    values[i] = rng.uniform() * 1e6;
  }
  fmt::memory_buffer out;
  for (auto _ : c.state()) {
    out.clear();
    for (std::size_t i = 0; i < kCount; ++i) {
      fmt::format_to(fmt::appender(out), "{{\"id\":{},\"hex\":\"{:016x}\",\"value\":{:.6f}}}\n",
                     ids[i], ids[i], values[i]);
    }
    benchmark::DoNotOptimize(out.data());
  }
  const auto lines = std::count(out.begin(), out.end(), '\n');
  if (lines != static_cast<std::ptrdiff_t>(kCount)) c.fail("wrong: a record is missing");
}

/// One cycle through all places in random order (Sattolo), so that no prefetcher can guess the
/// next.
std::vector<std::uint32_t> cycle(std::size_t places) {
  std::vector<std::uint32_t> next(places);
  std::iota(next.begin(), next.end(), 0U);
  Rng rng(kSeed);
  for (std::size_t i = places - 1; i > 0; --i) std::swap(next[i], next[rng.below(i)]);
  return next;
}

void walk_memory(Case& c) {
  constexpr std::size_t kSteps = 1024;
  // 64 MiB measures memory and not a cache; smoke only has to work.
  const auto places = scaled<std::size_t>(1U << 12, 1U << 24, 1U << 24);
  static const std::vector<std::uint32_t> next = cycle(places);
  std::uint32_t at = 0;
  for (auto _ : c.state()) {
    for (std::size_t i = 0; i < kSteps; ++i) at = next[at];
    benchmark::DoNotOptimize(at);
  }
  if (at >= places) c.fail("wrong: the walk left the table");
}

}  // namespace

void register_cases() {
  cpu_case("canary/sort/integers/count:2000", sort_integers);
  cpu_case("canary/format/records/count:64", format_records);
  // Its time depends on what else uses the memory; reported beside, and no gate of its own.
  cpu_case("canary/memory/walk/steps:1024", walk_memory, {Resource::kCpu, false});
}

}  // namespace plimsoll::bench
