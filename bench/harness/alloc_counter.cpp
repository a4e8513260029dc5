#include "bench/harness/alloc_counter.hpp"

#include <array>
#include <atomic>

namespace plimsoll::bench {
namespace {

// Each of the first threads owns a slot and writes it without a locked instruction; whoever comes
// later shares the last one. Slots are never given back, so that a thread's counts outlive it.
struct alignas(64) Slot {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> frees{0};
  std::atomic<std::uint64_t> bytes{0};
};

constexpr std::size_t kSlots = 512;
constexpr std::size_t kShared = kSlots - 1;

constinit std::array<Slot, kSlots> slots{};
constinit std::atomic<std::size_t> claimed{0};
constinit std::atomic<bool> counted{false};

constinit thread_local Slot* own_slot = nullptr;
constinit thread_local AllocationCounts own_counts{};

Slot& slot() noexcept {
  if (own_slot == nullptr) {
    const std::size_t index = claimed.fetch_add(1, std::memory_order_relaxed);
    own_slot = &slots[index < kShared ? index : kShared];
  }
  return *own_slot;
}

void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount, bool shared) noexcept {
  if (shared) {
    counter.fetch_add(amount, std::memory_order_relaxed);
  } else {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
}

AllocationCounts counts(AllocationScope::Of of) noexcept {
  return of == AllocationScope::Of::kThread ? thread_allocations() : process_allocations();
}

}  // namespace

bool allocations_are_counted() noexcept { return counted.load(std::memory_order_relaxed); }

AllocationCounts process_allocations() noexcept {
  AllocationCounts total;
  for (const Slot& each : slots) {
    total.calls += each.calls.load(std::memory_order_relaxed);
    total.frees += each.frees.load(std::memory_order_relaxed);
    total.bytes += each.bytes.load(std::memory_order_relaxed);
  }
  return total;
}

AllocationCounts thread_allocations() noexcept { return own_counts; }

AllocationScope::AllocationScope(Of of) noexcept : of_(of), begin_(counts(of)) {}

AllocationCounts AllocationScope::so_far() const noexcept {
  const AllocationCounts now = counts(of_);
  return {now.calls - begin_.calls, now.frees - begin_.frees, now.bytes - begin_.bytes};
}

namespace detail {

void count_allocation(std::size_t bytes) noexcept {
  Slot& mine = slot();
  const bool shared = &mine == &slots[kShared];
  add(mine.calls, 1, shared);
  add(mine.bytes, bytes, shared);
  ++own_counts.calls;
  own_counts.bytes += bytes;
}

void count_free() noexcept {
  Slot& mine = slot();
  add(mine.frees, 1, &mine == &slots[kShared]);
  ++own_counts.frees;
}

void allocations_are_counted_from_now() noexcept { counted.store(true, std::memory_order_relaxed); }

}  // namespace detail
}  // namespace plimsoll::bench
