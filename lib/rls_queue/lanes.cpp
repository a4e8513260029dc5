#include "lib/rls_queue/lanes.hpp"

#include <utility>

namespace plimsoll::rls {

void Lanes::Lane::place(std::shared_ptr<Link> link) noexcept {
  if (link_ != link) placed_ = 0;  // The former one is lost, and what was on it is over.
  link_ = std::move(link);
  ++placed_;
}

Lanes::Lane& Lanes::join(const std::string& tenant, std::uint64_t caller) {
  // A tenant holds no NUL, so no two pairs have the same key.
  const auto [at, is_new] = lanes_.try_emplace(tenant + '\0' + std::to_string(caller));
  Lane& lane = at->second;
  if (is_new) lane.key_ = &at->first;
  ++lane.jobs_;
  return lane;
}

void Lanes::leave(Lane& lane, const std::shared_ptr<Link>& link) {
  if (link != nullptr && link == lane.link_ && --lane.placed_ == 0) lane.link_ = nullptr;
  if (--lane.jobs_ == 0) lanes_.erase(lanes_.find(*lane.key_));
}

}  // namespace plimsoll::rls
