#include "lib/rls_queue/fair_queue.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::rls {

WaitingPtr FairQueue::add(WaitingPtr item) {
  WaitingPtr out;
  if (size_ >= limit_) {
    const std::size_t own = size_of(item->key());
    const auto most = std::ranges::max_element(
        ring_, {}, [](const Tenant& tenant) { return tenant.items.size(); });
    if (most == ring_.end() || most->items.size() <= own + 1) return item;
    out = std::move(most->items.back());
    most->items.pop_back();
    --size_;
  }
  auto found = by_key_.find(item->key());
  if (found == by_key_.end()) {
    ring_.push_back(Tenant{item->key()});
    found = by_key_.emplace(item->key(), std::prev(ring_.end())).first;
  }
  found->second->items.push_back(std::move(item));
  ++size_;
  return out;
}

WaitingPtr FairQueue::take(Ring::iterator tenant) {
  auto item = std::move(tenant->items.front());
  tenant->items.pop_front();
  tenant->deficit -= item->cost();
  --size_;
  forget_if_empty(tenant);
  return item;
}

bool FairQueue::remove(const WaitingPtr& item) {
  const auto found = by_key_.find(item->key());
  if (found == by_key_.end()) return false;
  auto& items = found->second->items;
  const auto at = std::ranges::find(items, item);
  if (at == items.end()) return false;
  items.erase(at);
  --size_;
  forget_if_empty(found->second);
  return true;
}

void FairQueue::forget_if_empty(Ring::iterator tenant) {
  if (!tenant->items.empty()) return;
  by_key_.erase(tenant->key);
  ring_.erase(tenant);
}

std::size_t FairQueue::size_of(const std::string& key) const noexcept {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? 0 : found->second->items.size();
}

}  // namespace plimsoll::rls
