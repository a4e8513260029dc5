#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace plimsoll::rls {

/// What waits in a FairQueue.
class Waiting {
 public:
  /// `cost` in statements, at least 1.
  Waiting(std::string key, std::size_t cost) : key_(std::move(key)), cost_(cost) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  virtual ~Waiting() = default;

  /// Whose turn it counts for: the tenant.
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] std::size_t cost() const noexcept { return cost_; }

 private:
  std::string key_;
  std::size_t cost_;
};
using WaitingPtr = std::shared_ptr<Waiting>;

/// A queue in which tenants take turns: deficit round robin with one statement a turn, so that a
/// tenant waits for as many statements of others as there are tenants, however many jobs each of
/// them brought. Within a tenant first in, first out.
///
/// Bounded: beyond `limit` the newest job of the tenant that has most of them must go, so that a
/// big tenant cannot keep a small one out either.
///
/// Cost: O(1) apart from what does not fit, plus O(tenants) when full. Thread safety: none.
class FairQueue {
 public:
  explicit FairQueue(std::size_t limit) noexcept : limit_(limit) {}

  /// Takes `item` in. Returns what had to go for it, which may be `item` itself, or null.
  [[nodiscard]] WaitingPtr add(WaitingPtr item);

  /// Takes out the next one for which `fits(item)` holds; null when there is none. A tenant whose
  /// first job does not fit keeps its turn.
  template <class Fits>
  [[nodiscard]] WaitingPtr next(const Fits& fits) {
    for (bool has_fitting = true; has_fitting;) {
      has_fitting = false;
      for (auto at = ring_.begin(); at != ring_.end();) {
        const auto tenant = at++;
        const auto& first = *tenant->items.front();
        if (!fits(first)) continue;
        has_fitting = true;
        if (!std::exchange(tenant->has_turn, true)) ++tenant->deficit;
        if (tenant->deficit >= first.cost()) return take(tenant);
        tenant->has_turn = false;
        ring_.splice(ring_.end(), ring_, tenant);
      }
    }
    return nullptr;
  }

  /// Takes out this one. False when it is not here.
  bool remove(const WaitingPtr& item);

  /// Calls `look` with each that waits.
  template <class Look>
  void for_each(const Look& look) const {
    for (const auto& tenant : ring_) {
      for (const auto& item : tenant.items) look(item);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// How many of this tenant wait.
  [[nodiscard]] std::size_t size_of(const std::string& key) const noexcept;

 private:
  struct Tenant {
    std::string key;
    std::deque<WaitingPtr> items{};
    std::size_t deficit = 0;  ///< Statements that it may still send.
    bool has_turn = false;    ///< This turn's statement is in `deficit`.
  };
  using Ring = std::list<Tenant>;

  WaitingPtr take(Ring::iterator tenant);
  void forget_if_empty(Ring::iterator tenant);

  std::size_t limit_;
  std::size_t size_ = 0;
  Ring ring_;  // Only tenants that wait; the front has the next turn.
  std::unordered_map<std::string, Ring::iterator> by_key_;
};

}  // namespace plimsoll::rls
