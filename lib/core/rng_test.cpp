#include "lib/core/rng.hpp"

#include <gtest/gtest.h>

#include <set>

namespace plimsoll {
namespace {

TEST(Rng, GivesTheSameSequenceForTheSameSeed) {
  Rng a(7);
  Rng b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a(), b());
}

TEST(Rng, ForksIndependentStreamsThatDoNotDependOnDraws) {
  Rng a(7);
  const auto before = a.fork(3)();
  (void)a();
  EXPECT_EQ(a.fork(3)(), before);
  std::set<std::uint64_t> first_draws;
  for (std::uint64_t i = 0; i < 1000; ++i) first_draws.insert(a.fork(i)());
  EXPECT_EQ(first_draws.size(), 1000U);
}

TEST(Rng, DrawsBelowABoundEvenly) {
  Rng rng(1);
  std::array<int, 7> seen{};
  for (int i = 0; i < 70000; ++i) ++seen.at(rng.below(7));
  for (const int count : seen) EXPECT_NEAR(count, 10000, 500);
}

TEST(Rng, DrawsExponentialGapsOfTheStatedMean) {
  Rng rng(2);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) sum += rng.exponential(5.0);
  EXPECT_NEAR(sum / 100000, 5.0, 0.1);
}

}  // namespace
}  // namespace plimsoll
