#include "compare/stats/stats.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "lib/core/statistics.hpp"

namespace plimsoll::compare {
namespace {

/// Twice the mean ranks of `values`, in their order, so that ties stay whole numbers; and the sum
/// of t^3 - t over the groups of equal values, which corrects variances.
struct DoubledRanks {
  std::vector<std::size_t> rank;
  double ties = 0;
};

DoubledRanks doubled_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  DoubledRanks ranks;
  ranks.rank.resize(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks.rank[order[i]] = first + end + 1;
    const auto tied = static_cast<double>(end - first);
    ranks.ties += tied * tied * tied - tied;
    first = end;
  }
  return ranks;
}

/// P(S = s) for every s, where S adds each rank with probability one half.
std::vector<double> signed_rank_distribution(std::span<const std::size_t> ranks) {
  std::vector<double> probability{1.0};
  for (const std::size_t rank : ranks) {
    probability.resize(probability.size() + rank, 0.0);
    for (std::size_t s = probability.size(); s-- > 0;) {
      const double without = probability[s];
      probability[s] = (without + (s >= rank ? probability[s - rank] : 0.0)) / 2;
    }
  }
  return probability;
}

/// P(S = s) for every s, where S is the sum of `chosen` of the ranks, each subset being as likely
/// as another.
std::vector<double> rank_sum_distribution(std::span<const std::size_t> ranks, std::size_t chosen) {
  const std::size_t total = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  const std::size_t width = total + 1;
  // ways[k * width + s]: subsets of k ranks with sum s. Counts pass 2^53, so they are doubles; only
  // additions of positive numbers happen to them, which keeps every one right to about 1e-14 of
  // itself.
  std::vector<double> ways((chosen + 1) * width, 0.0);
  ways[0] = 1.0;
  std::size_t reach = 0;
  std::size_t seen = 0;
  for (const std::size_t rank : ranks) {
    reach += rank;
    ++seen;
    for (std::size_t k = std::min(chosen, seen); k >= 1; --k) {
      double* row = ways.data() + k * width;
      const double* below = ways.data() + (k - 1) * width;
      for (std::size_t s = rank; s <= reach; ++s) row[s] += below[s - rank];
    }
  }
  std::vector<double> probability(ways.begin() + static_cast<std::ptrdiff_t>(chosen * width),
                                  ways.end());
  const double subsets = std::accumulate(probability.begin(), probability.end(), 0.0);
  for (double& p : probability) p /= subsets;
  return probability;
}

double tail_p(std::span<const double> distribution, std::size_t observed, Tail tail) {
  const auto at = distribution.begin() + static_cast<std::ptrdiff_t>(observed);
  const double below = std::accumulate(distribution.begin(), at + 1, 0.0);
  const double above = std::accumulate(at, distribution.end(), 0.0);
  if (tail == Tail::kGreater) return std::min(1.0, above);
  if (tail == Tail::kLess) return std::min(1.0, below);
  return std::min(1.0, 2 * std::min(below, above));
}

double upper_normal(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

/// Normal approximation; the statistic moves in steps of one, hence the half.
double normal_p(double observed, double mean, double variance, Tail tail) {
  if (variance <= 0) return 1.0;
  const double deviation = std::sqrt(variance);
  const double above = upper_normal((observed - mean - 0.5) / deviation);
  const double below = upper_normal((mean - observed - 0.5) / deviation);
  if (tail == Tail::kGreater) return above;
  if (tail == Tail::kLess) return below;
  return std::min(1.0, 2 * std::min(below, above));
}

/// How many of the ordered Walsh means the interval leaves out at each end; 0 when it must leave
/// out none and even then covers too little.
std::size_t walsh_cut(std::size_t n, double confidence) {
  const double side = (1 - confidence) / 2;
  if (n > kExactSignedRank) {
    const auto count = static_cast<double>(n);
    const double mean = count * (count + 1) / 4;
    const double deviation = std::sqrt(count * (count + 1) * (2 * count + 1) / 24);
    const double cut = std::floor(mean - normal_quantile(1 - side) * deviation);
    return cut < 1 ? 0 : static_cast<std::size_t>(cut);
  }
  std::vector<std::size_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), std::size_t{1});
  const std::vector<double> distribution = signed_rank_distribution(ranks);
  std::size_t cut = 0;
  double below = 0;
  while (cut < distribution.size()) {
    below += distribution[cut];
    if (below > side) break;
    ++cut;
  }
  return cut;
}

}  // namespace

double signed_rank_p(std::span<const double> differences, Tail tail) {
  std::vector<double> magnitudes;
  std::vector<bool> positive;
  for (const double difference : differences) {
    assert(std::isfinite(difference));
    if (difference == 0) continue;
    magnitudes.push_back(std::abs(difference));
    positive.push_back(difference > 0);
  }
  if (magnitudes.empty()) return 1.0;
  const DoubledRanks ranks = doubled_ranks(magnitudes);
  std::size_t observed = 0;
  for (std::size_t i = 0; i < positive.size(); ++i) observed += positive[i] ? ranks.rank[i] : 0;
  if (magnitudes.size() <= kExactSignedRank) {
    return tail_p(signed_rank_distribution(ranks.rank), observed, tail);
  }
  const auto n = static_cast<double>(magnitudes.size());
  const double variance = n * (n + 1) * (2 * n + 1) / 24 - ranks.ties / 48;
  return normal_p(static_cast<double>(observed) / 2, n * (n + 1) / 4, variance, tail);
}

double rank_sum_p(std::span<const double> before, std::span<const double> after, Tail tail) {
  if (before.empty() || after.empty()) return 1.0;
  std::vector<double> all(after.begin(), after.end());
  all.insert(all.end(), before.begin(), before.end());
  const DoubledRanks ranks = doubled_ranks(all);
  std::size_t observed = 0;
  std::size_t total = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    assert(std::isfinite(all[i]));
    total += ranks.rank[i];
    observed += i < after.size() ? ranks.rank[i] : 0;
  }
  if (all.size() <= kExactRankSum) {
    // The smaller side has the smaller table; seen from it, the tails change places.
    if (after.size() <= before.size()) {
      return tail_p(rank_sum_distribution(ranks.rank, after.size()), observed, tail);
    }
    const Tail turned = tail == Tail::kGreater ? Tail::kLess
                        : tail == Tail::kLess  ? Tail::kGreater
                                               : tail;
    return tail_p(rank_sum_distribution(ranks.rank, before.size()), total - observed, turned);
  }
  const auto n = static_cast<double>(all.size());
  const auto m = static_cast<double>(after.size());
  const double variance = m * (n - m) / 12 * (n + 1 - ranks.ties / (n * (n - 1)));
  return normal_p(static_cast<double>(observed) / 2, m * (n + 1) / 2, variance, tail);
}

double rank_sum_p(std::span<const double> before, std::span<const double> after) {
  return rank_sum_p(before, after, Tail::kTwoSided);
}

Estimate hodges_lehmann(std::span<const double> differences, double confidence) {
  assert(!differences.empty() && confidence > 0 && confidence < 1);
  std::vector<double> means;
  means.reserve(differences.size() * (differences.size() + 1) / 2);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    for (std::size_t j = i; j < differences.size(); ++j) {
      means.push_back(differences[i] / 2 + differences[j] / 2);
    }
  }
  std::sort(means.begin(), means.end());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Estimate estimate{median(means), -kInfinity, kInfinity};
  if (const std::size_t cut = walsh_cut(differences.size(), confidence); cut > 0) {
    estimate.low = means[cut - 1];
    estimate.high = means[means.size() - cut];
  }
  return estimate;
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double running = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto remaining = static_cast<double>(order.size() - i);
    running = std::max(running, std::min(1.0, remaining * p_values[order[i]]));
    adjusted[order[i]] = running;
  }
  return adjusted;
}

double normal_quantile(double p) {
  assert(p > 0 && p < 1);
  // Bisection on the tail that keeps its digits: no table of coefficients to mistype, and nobody
  // calls it in a loop.
  const bool upper = p > 0.5;
  const double tail = upper ? 1 - p : p;
  double low = 0;
  double high = 40;
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    (upper_normal(middle) > tail ? low : high) = middle;
  }
  return upper ? low : -low;
}

Estimate wilson(std::size_t successes, std::size_t trials, double confidence) {
  assert(trials > 0 && successes <= trials);
  const double z = normal_quantile(1 - (1 - confidence) / 2);
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n;
  const double centre = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half =
      z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {share, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

double smallest_signed_rank_p(std::size_t pairs, Tail tail) {
  const double one_sided = std::ldexp(1.0, -static_cast<int>(pairs));
  return tail == Tail::kTwoSided ? std::min(1.0, 2 * one_sided) : one_sided;
}

double smallest_rank_sum_p(std::size_t before, std::size_t after, Tail tail) {
  double subsets = 1;
  for (std::size_t i = 1; i <= std::min(before, after); ++i) {
    const auto top = static_cast<double>(std::max(before, after) + i);
    subsets = subsets * top / static_cast<double>(i);
  }
  return tail == Tail::kTwoSided ? std::min(1.0, 2 / subsets) : 1 / subsets;
}

}  // namespace plimsoll::compare
