// Prints seeded samples and what stats.hpp makes of them, one JSON object a line, for
// stats_scipy_test.py to compute anew with SciPy.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "compare/stats/stats.hpp"
#include "lib/core/rng.hpp"

namespace {

using plimsoll::Rng;
using plimsoll::compare::Tail;

constexpr std::uint64_t kSeed = 20;

std::string_view word(Tail tail) {
  if (tail == Tail::kGreater) return "greater";
  return tail == Tail::kLess ? "less" : "two-sided";
}

/// `levels` 0: all values differ; else so many levels, which gives ties.
std::vector<double> draw(Rng& rng, std::size_t count, std::uint64_t levels, double shift) {
  std::vector<double> values(count);
  for (double& value : values) {
    value = shift + (levels == 0 ? rng.uniform() * 8 : static_cast<double>(rng.below(levels)));
  }
  return values;
}

void print_signed_rank(Rng& rng, std::size_t pairs, std::uint64_t levels) {
  const auto sample = draw(rng, pairs, levels, -3);
  for (const Tail tail : {Tail::kTwoSided, Tail::kGreater, Tail::kLess}) {
    fmt::print(R"({{"what":"signed_rank","tail":"{}","ties":{},"x":[{:.17g}],"p":{:.17g}}})"
               "\n",
               word(tail), levels != 0, fmt::join(sample, ","),
               plimsoll::compare::signed_rank_p(sample, tail));
  }
}

void print_rank_sum(Rng& rng, std::size_t before, std::size_t after, std::uint64_t levels) {
  const auto x = draw(rng, before, levels, 0);
  const auto y = draw(rng, after, levels, levels == 0 ? 1 : 0);
  for (const Tail tail : {Tail::kTwoSided, Tail::kGreater, Tail::kLess}) {
    fmt::print(
        R"({{"what":"rank_sum","tail":"{}","ties":{},"x":[{:.17g}],"y":[{:.17g}],"p":{:.17g}}})"
        "\n",
        word(tail), levels != 0, fmt::join(x, ","), fmt::join(y, ","),
        plimsoll::compare::rank_sum_p(x, y, tail));
  }
}

}  // namespace

int main() {
  Rng rng(kSeed);
  for (const std::size_t pairs : {1, 2, 5, 8, 12, 24, 40}) print_signed_rank(rng, pairs, 0);
  for (const std::size_t pairs : {3, 6, 9, 12}) print_signed_rank(rng, pairs, 7);
  for (const std::size_t pairs : {90, 120}) {
    print_signed_rank(rng, pairs, 0);
    print_signed_rank(rng, pairs, 7);
  }
  for (const std::size_t size : {1, 3, 5, 8, 10, 20}) {
    print_rank_sum(rng, size, size, 0);
    print_rank_sum(rng, size, size / 2 + 1, 0);
  }
  for (const std::size_t size : {3, 5, 6}) {
    print_rank_sum(rng, size, size, 5);
    print_rank_sum(rng, size, size + 2, 5);
  }
  for (const std::uint64_t levels : {0, 9}) print_rank_sum(rng, 45, 60, levels);
  for (const std::size_t successes : {0, 1, 9, 20}) {
    const auto interval = plimsoll::compare::wilson(successes, 20, 0.95);
    fmt::print(R"({{"what":"wilson","successes":{},"trials":20,"low":{:.17g},"high":{:.17g}}})"
               "\n",
               successes, interval.low, interval.high);
  }
  for (const double p : {1e-6, 0.01, 0.4, 0.975, 0.9999}) {
    fmt::print(R"({{"what":"quantile","of":{:.17g},"value":{:.17g}}})"
               "\n",
               p, plimsoll::compare::normal_quantile(p));
  }
}
