#include "bench/kv_store/draw.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace plimsoll::bench {
namespace {

constexpr double kExponent = 0.99;
constexpr std::uint64_t kStride = 2'654'435'761;  // Prime, so a permutation of any smaller number.

}  // namespace

Draw::Draw(Law law, std::size_t places) : places_(places) {
  if (law == Law::kUniform) return;
  double total = 0;
  up_to_.reserve(places);
  for (std::size_t rank = 1; rank <= places; ++rank) {
    total += std::pow(static_cast<double>(rank), -kExponent);
    up_to_.push_back(total);
  }
  for (double& share : up_to_) share /= total;
}

std::size_t Draw::operator()(Rng& rng) const noexcept {
  if (up_to_.empty()) return rng.below(places_);
  const auto found = std::ranges::lower_bound(up_to_, rng.uniform());
  const auto rank = std::min(static_cast<std::size_t>(found - up_to_.begin()), places_ - 1);
  return rank * kStride % places_;
}

}  // namespace plimsoll::bench
