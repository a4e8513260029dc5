#include "lib/redis/backoff.hpp"

#include <algorithm>
#include <cassert>

namespace plimsoll::redis {

using std::chrono::milliseconds;

Backoff::Backoff(milliseconds first, milliseconds longest, std::uint64_t seed) noexcept
    : first_(first), longest_(longest), whole_(first), rng_(seed) {
  assert(first.count() > 0 && first <= longest);
}

milliseconds Backoff::next() noexcept {
  const auto half = whole_.count() / 2;
  const auto cut = rng_.below(static_cast<std::uint64_t>(half) + 1);
  const milliseconds pause(whole_.count() - static_cast<milliseconds::rep>(cut));
  whole_ = std::min(whole_ > longest_ / 2 ? longest_ : whole_ * 2, longest_);
  return pause;
}

}  // namespace plimsoll::redis
