#include "bench/kv_store/draw.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace plimsoll::bench {
namespace {

std::vector<int> drawn(Draw::Law law, std::size_t places, int times) {
  const Draw draw(law, places);
  Rng rng(1);
  std::vector<int> counts(places);
  for (int i = 0; i < times; ++i) ++counts.at(draw(rng));
  std::ranges::sort(counts, std::greater());
  return counts;
}

TEST(KvDraw, ReachesEveryPlaceAlikeOrByZipfsLaw) {
  const auto uniform = drawn(Draw::Law::kUniform, 100, 100'000);
  EXPECT_GT(uniform.back(), 800);
  EXPECT_LT(uniform.front(), 1200);
  const auto zipf = drawn(Draw::Law::kZipf, 100, 100'000);
  EXPECT_GT(zipf.back(), 0);
  // The first of 100 has 19.2 %, the second about half of it.
  EXPECT_NEAR(zipf[0], 19'200, 800);
  EXPECT_NEAR(zipf[1], 9'700, 600);
}

}  // namespace
}  // namespace plimsoll::bench
