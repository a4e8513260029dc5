#include <algorithm>
#include <utility>

#include "bench/kv_store/crash.hpp"

namespace plimsoll::bench {

void WriteLedger::acknowledge(const std::string& key, Write write) {
  Key& entry = keys_[key];
  entry.before.push_back(std::exchange(entry.last, write));
  // What was on its way before is decided now: the writer's later write came after it.
  entry.before.insert(entry.before.end(), entry.open.begin(), entry.open.end());
  entry.open.clear();
  ++acknowledged_;
}

void WriteLedger::leave_unknown(const std::string& key, Write write) {
  keys_[key].open.push_back(write);
  ++unknown_;
}

WriteLedger::Verdict WriteLedger::judge(const std::map<std::string, std::int64_t>& found) {
  Verdict verdict;
  for (const auto& [key, number] : found) {
    if (!keys_.contains(key)) ++verdict.invented;
  }
  for (auto& [key, entry] : keys_) {
    const auto stored = found.find(key);
    const Write now = stored == found.end() ? Write{true, 0} : Write{false, stored->second};
    const auto is_now = [&](const Write& write) {
      return write.is_erase == now.is_erase && (now.is_erase || write.number == now.number);
    };
    if (!is_now(entry.last) && std::ranges::none_of(entry.open, is_now)) {
      ++(std::ranges::any_of(entry.before, is_now) ? verdict.lost : verdict.invented);
    }
    entry = Key{now, {}, {}};
  }
  return verdict;
}

}  // namespace plimsoll::bench
