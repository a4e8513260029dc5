#include "lib/load/resources.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lib/core/rng.hpp"

namespace plimsoll::load {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kLimit = 1.0 * kMebibyte;  // A second.

/// Ten minutes, sampled ten times a second, with noise as a real process has it.
template <class Value>
Series watched(Value value) {
  Rng rng(5);
  SeriesRecorder recorder;
  for (int i = 0; i < 6000; ++i) {
    const double seconds = 0.1 * i;
    recorder.add(seconds, value(seconds) + 0.2 * kMebibyte * rng.uniform());
  }
  return recorder.summarize("bytes");
}

double sawtooth(double seconds) {  // 64 MiB up in 20 s, then freed at once.
  return 200 * kMebibyte + 64 * kMebibyte * std::fmod(seconds, 20.0) / 20.0;
}

TEST(Leak, AFlatSeriesIsClean) {
  EXPECT_EQ(judge_leak(watched([](double) { return 100 * kMebibyte; }), kLimit),
            LeakVerdict::kClean);
}

TEST(Leak, ASawtoothIsClean) {
  EXPECT_EQ(judge_leak(watched(sawtooth), kLimit), LeakVerdict::kClean);
}

TEST(Leak, TwiceTheLimitIsCaughtFlatOrUnderASawtooth) {
  EXPECT_EQ(judge_leak(watched([](double s) { return 100 * kMebibyte + 2 * kLimit * s; }), kLimit),
            LeakVerdict::kLeaking);
  EXPECT_EQ(judge_leak(watched([](double s) { return sawtooth(s) + 2 * kLimit * s; }), kLimit),
            LeakVerdict::kLeaking);
}

TEST(Leak, ASlopeAtHalfTheLimitPasses) {
  EXPECT_EQ(judge_leak(watched([](double s) { return 0.5 * kLimit * s; }), kLimit),
            LeakVerdict::kClean);
}

TEST(Leak, TheUpperBoundDecidesAndNotTheEstimate) {
  Series series;
  series.slope = Slope{0.5, 0.1, 1.0};
  EXPECT_EQ(judge_leak(series, 1.0), LeakVerdict::kClean);
  series.slope = Slope{0.5, 0.1, 1.01};
  EXPECT_EQ(judge_leak(series, 1.0), LeakVerdict::kLeaking);
}

TEST(Leak, AShortSeriesProvesNothing) {
  SeriesRecorder recorder;
  EXPECT_EQ(judge_leak(recorder.summarize("bytes"), kLimit), LeakVerdict::kTooShort);
  for (int i = 0; i < 3; ++i) recorder.add(i, 1.0);
  EXPECT_EQ(judge_leak(recorder.summarize("bytes"), kLimit), LeakVerdict::kTooShort);
  const Series series = recorder.summarize("bytes");
  EXPECT_EQ(series.samples, 3U);
  EXPECT_FALSE(series.slope);
}

TEST(Series, ALongOneStaysBoundedAndKeepsItsFloorItsEndsAndItsMaximum) {
  SeriesRecorder recorder;
  constexpr int kSamples = 1'000'000;
  for (int i = 0; i < kSamples; ++i) {
    recorder.add(i, i == 777'777 ? 1e9 : 100.0 + i % 7 + (i == kSamples - 1 ? 0.5 : 0.0));
  }
  const Series series = recorder.summarize("fds");
  EXPECT_EQ(series.unit, "fds");
  EXPECT_EQ(series.samples, static_cast<std::uint64_t>(kSamples));
  EXPECT_EQ(series.first, 100.0);
  EXPECT_EQ(series.last, 100.0 + (kSamples - 1) % 7 + 0.5);
  EXPECT_EQ(series.max, 1e9);
  ASSERT_TRUE(series.slope);
  EXPECT_EQ(series.slope->value, 0.0);
}

TEST(Series, HalvingKeepsTheSlope) {
  SeriesRecorder recorder;
  for (int i = 0; i < 10'000; ++i) recorder.add(0.01 * i, 3.0 * 0.01 * i);
  const Series series = recorder.summarize("bytes");
  ASSERT_TRUE(series.slope);
  EXPECT_NEAR(series.slope->value, 3.0, 1e-9);
}

}  // namespace
}  // namespace plimsoll::load
