// The allocator's entry points, defined in the executable: the dynamic linker then gives them to
// every library too, so that OpenSSL's and libpq's allocations are counted with ours. The work is
// done by glibc's own functions under their second names. Not built under sanitizers.
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "bench/harness/alloc_counter.hpp"

extern "C" {

void* __libc_malloc(std::size_t size) noexcept;
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
void* __libc_realloc(void* old, std::size_t size) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept;
void __libc_free(void* block) noexcept;

void* malloc(std::size_t size) noexcept {
  plimsoll::bench::detail::count_allocation(size);
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  plimsoll::bench::detail::count_allocation(count * size);
  return __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) noexcept {
  plimsoll::bench::detail::count_allocation(size);
  return __libc_realloc(old, size);
}

void* reallocarray(void* old, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(old, bytes);
}

void free(void* block) noexcept {
  if (block == nullptr) return;
  plimsoll::bench::detail::count_free();
  __libc_free(block);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  plimsoll::bench::detail::count_allocation(size);
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  const bool is_power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!is_power_of_two || alignment % sizeof(void*) != 0) return EINVAL;
  const int saved = errno;  // POSIX: the result is returned, errno is left alone.
  void* made = memalign(alignment, size);
  errno = saved;
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

}  // extern "C"

namespace {
// malloc runs before any constructor; this only says that it is ours.
[[gnu::constructor]] void announce() {
  plimsoll::bench::detail::allocations_are_counted_from_now();
}
}  // namespace
