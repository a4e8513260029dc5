#include "lib/core/rng.hpp"

#include <bit>
#include <cassert>
#include <cmath>

namespace plimsoll {
namespace {

std::uint64_t split_mix(std::uint64_t& state) noexcept {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

}  // namespace

Rng::Rng(std::uint64_t seed) noexcept : seed_(seed) {
  for (auto& word : state_) word = split_mix(seed);
}

Rng::result_type Rng::operator()() noexcept {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Rng::uniform() noexcept { return static_cast<double>((*this)() >> 11U) * 0x1.0p-53; }

std::uint64_t Rng::below(std::uint64_t bound) noexcept {
  assert(bound > 0);
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>((*this)()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) {
      product = static_cast<Wide>((*this)()) * bound;
    }
  }
  return static_cast<std::uint64_t>(product >> 64U);
}

double Rng::exponential(double mean) noexcept {
  assert(mean > 0);
  return -mean * std::log1p(-uniform());
}

Rng Rng::fork(std::uint64_t index) const noexcept {
  std::uint64_t state = seed_ ^ (index * 0xd1342543de82ef95ULL + 0x2545f4914f6cdd1dULL);
  return Rng(split_mix(state));
}

}  // namespace plimsoll
