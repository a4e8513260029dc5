#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll::bench {

/// Calls of the allocator. A realloc counts as one call, with its new size.
struct AllocationCounts {
  std::uint64_t calls = 0;
  std::uint64_t frees = 0;
  std::uint64_t bytes = 0;  ///< Asked for, not what the allocator rounded it to.
};

/// True where malloc is interposed: in every bench binary, except under sanitizers, which bring an
/// allocator of their own.
[[nodiscard]] bool allocations_are_counted() noexcept;

/// Of all threads since the process began, ended threads included: our own code's, OpenSSL's,
/// libpq's. A snapshot while other threads allocate is not of one instant.
[[nodiscard]] AllocationCounts process_allocations() noexcept;

/// Of the calling thread since it began. Exact.
[[nodiscard]] AllocationCounts thread_allocations() noexcept;

/// What was allocated since it was made. Reading costs some ns for kThread, about 1 us for
/// kProcess.
///
/// Thread safety: none; read a kThread scope on the thread that made it.
class AllocationScope {
 public:
  enum class Of { kThread, kProcess };

  explicit AllocationScope(Of of = Of::kThread) noexcept;
  [[nodiscard]] AllocationCounts so_far() const noexcept;

 private:
  Of of_;
  AllocationCounts begin_;
};

namespace detail {

/// Called by the interposed functions; it must not allocate.
void count_allocation(std::size_t bytes) noexcept;
void count_free() noexcept;
void allocations_are_counted_from_now() noexcept;

}  // namespace detail
}  // namespace plimsoll::bench
