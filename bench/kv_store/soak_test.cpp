#include "bench/kv_store/soak.hpp"

#include <gtest/gtest.h>

#include "lib/core/rng.hpp"

namespace plimsoll::bench {
namespace {

/// Five minutes of samples, four a second, by a clock of our own: `growth` bytes a minute under an
/// allocator's sawtooth of 8 MB and noise.
load::Series memory(double growth, double seconds = 300) {
  load::SeriesRecorder recorder;
  Rng rng(3);
  for (double at = 0; at < seconds; at += 0.25) {
    const double tooth = 8e6 * (at / 7 - static_cast<double>(static_cast<int>(at / 7)));
    recorder.add(at + 0.001, 200e6 + growth * at / 60 + tooth + 2e5 * rng.uniform());
  }
  return recorder.summarize("bytes");
}

TEST(KvSoak, MemoryThatOnlyGoesUpAndDownPasses) { EXPECT_FALSE(is_leaking(memory(0))); }

TEST(KvSoak, ALeakOfTwoMegabytesAMinuteIsCaught) { EXPECT_TRUE(is_leaking(memory(2e6))); }

TEST(KvSoak, HalfOfWhatIsAllowedPasses) { EXPECT_FALSE(is_leaking(memory(0.5e6))); }

TEST(KvSoak, WhatIsTooShortToJudgeHasNotPassed) { EXPECT_TRUE(is_leaking(memory(0, 0.5))); }

}  // namespace
}  // namespace plimsoll::bench
