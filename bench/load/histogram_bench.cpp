// Question: what does the load runner pay for its measuring: to record a latency, to read the
//           clock, to know the next arrival; and what do merging and reading cost afterwards?
// Method:   values are drawn before the loop, seed fixed; the same 4,096 of them are recorded again
//           and again, so that branch and cache see what they would see in a run. `octaves` is how
//           far they spread from 100 us: 1 is a calm subject, 12 one with a long tail.
// Expect:   record 2 to 4 ns (the goal is 2), a fraction of what reading the clock costs (about 30
//           ns); merge and quantile some microseconds, paid once a run.
#include <array>
#include <chrono>
#include <cmath>

#include "bench/harness/case.hpp"
#include "lib/core/clock.hpp"
#include "lib/core/rng.hpp"
#include "lib/load/arrivals.hpp"
#include "lib/load/histogram.hpp"

namespace plimsoll::bench {

const std::string_view kGroup = "load";

namespace {

constexpr std::size_t kValues = 4096;
constexpr std::uint64_t kSeed = 20261130;
using Values = std::array<Nanoseconds, kValues>;

Values draw(double octaves) {
  Rng rng(kSeed);
  Values values{};
  for (auto& value : values) {
    value = Nanoseconds(static_cast<std::int64_t>(1e5 * std::exp2(octaves * rng.uniform())));
  }
  return values;
}

void record(Case& c, double octaves) {
  const Values values = draw(octaves);
  load::Histogram histogram;
  std::size_t next = 0;
  for (auto _ : c.state()) {
    histogram.record(values[next++ % kValues]);
    benchmark::ClobberMemory();
  }
  if (histogram.count() != static_cast<std::uint64_t>(c.state().iterations())) {
    c.fail("wrong: a value was lost");
  }
}

void merge(Case& c) {
  load::Histogram part;
  for (const auto value : draw(12)) part.record(value);
  load::Histogram whole;
  for (auto _ : c.state()) {
    whole.merge(part);
    benchmark::ClobberMemory();
  }
  if (whole.count() != static_cast<std::uint64_t>(c.state().iterations()) * kValues) {
    c.fail("wrong: merged counts do not add up");
  }
}

void quantile(Case& c) {
  load::Histogram histogram;
  for (const auto value : draw(12)) histogram.record(value);
  Nanoseconds p99{0};
  for (auto _ : c.state()) {
    p99 = histogram.quantile_raw(0.99);
    benchmark::DoNotOptimize(p99);
  }
  if (p99 <= histogram.quantile_raw(0.5) || p99 > histogram.max()) c.fail("wrong: p99 is no p99");
}

void read_clock(Case& c) {
  TimePoint last{};
  std::int64_t backwards = 0;
  for (auto _ : c.state()) {
    const TimePoint now = Clock::now();
    backwards += now < last ? 1 : 0;
    last = now;
  }
  c.invariant("clock_backwards", backwards);
}

void next_arrival(Case& c, load::Arrivals::Law law) {
  load::ArrivalPlan plan({law, 1e6, 0, 1}, kSeed, TimePoint{});
  TimePoint last{};
  std::int64_t disordered = 0;
  for (auto _ : c.state()) {
    const TimePoint due = plan.pop();
    disordered += due < last ? 1 : 0;
    last = due;
  }
  c.invariant("arrivals_out_of_order", disordered);
}

}  // namespace

void register_cases() {
  using load::Arrivals;
  cpu_case("load/histogram/record/octaves:1", [](Case& c) { record(c, 1); });
  cpu_case("load/histogram/record/octaves:12", [](Case& c) { record(c, 12); });
  cpu_case("load/histogram/merge/buckets:4608", merge);
  cpu_case("load/histogram/quantile/buckets:4608", quantile);
  cpu_case("load/clock/now/calls:1", read_clock);
  cpu_case("load/arrivals/pop/poisson:0",
           [](Case& c) { next_arrival(c, Arrivals::Law::kConstant); });
  cpu_case("load/arrivals/pop/poisson:1",
           [](Case& c) { next_arrival(c, Arrivals::Law::kPoisson); });
}

}  // namespace plimsoll::bench
