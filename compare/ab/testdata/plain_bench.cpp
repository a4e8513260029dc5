// Somebody else's benchmarks: plain Google Benchmark with its own main, built twice. PLAIN_DELAY is
// what changed.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace {

// Sleeping, so that a loaded machine changes the ratio of the two builds little.
void waits(benchmark::State& state) {
  for (auto _ : state) std::this_thread::sleep_for(std::chrono::microseconds(PLAIN_DELAY));
}
BENCHMARK(waits)->Name("plain/waits(us)+[a-z]*")->UseRealTime();

// The same in both builds.
void counts(benchmark::State& state) {
  std::uint64_t sum = 0;
  for (auto _ : state) {
    for (std::uint64_t i = 0; i < 100; ++i) benchmark::DoNotOptimize(sum += i * i);
  }
}
BENCHMARK(counts)->Name("plain/counts");

void fails(benchmark::State& state) {
  for (auto _ : state) state.SkipWithError("wrong: it failed on purpose");
}
BENCHMARK(fails)->Name("plain/fails");

}  // namespace

BENCHMARK_MAIN();
