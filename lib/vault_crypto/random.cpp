#include "lib/vault_crypto/random.hpp"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "lib/vault_crypto/openssl_error.hpp"
#include "lib/vault_crypto/secret_memory.hpp"

namespace plimsoll::vault {
namespace {

using Epoch = std::atomic<std::uint64_t>;

// Counts forks on this process' line of descent; inherited, so a child's value is new to it.
Epoch g_last_epoch{0};
Epoch g_fallback{0};
Epoch* g_epoch = nullptr;

Epoch* map_epoch() noexcept {
  pthread_atfork(nullptr, nullptr, [] { g_epoch->store(0, std::memory_order_relaxed); });
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const at =
      ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return &g_fallback;
  if (::madvise(at, page, MADV_WIPEONFORK) != 0) {
    ::munmap(at, page);
    return &g_fallback;
  }
  return new (at) Epoch(0);
}

// Hands out random bytes that were drawn ahead into `storage`, each at most once in one process.
template <std::size_t Capacity, int (*Draw)(unsigned char*, int)>
class Buffer {
 public:
  /// Returns the place in `storage` that was used, so that the caller can zero it.
  Result<MutableBytes> take(MutableBytes into, MutableBytes storage) {
    const std::uint64_t epoch = fork_epoch();
    if (epoch != epoch_ || next_ + into.size() > Capacity) {
      next_ = Capacity;  // A failed draw must not leave old bytes to be used again.
      if (Draw(octets(storage), static_cast<int>(Capacity)) != 1) {
        return openssl_failure("no randomness");
      }
      epoch_ = epoch;
      next_ = 0;
    }
    const MutableBytes used = storage.subspan(next_, into.size());
    std::memcpy(into.data(), used.data(), used.size());
    next_ += used.size();
    return used;
  }

 private:
  std::uint64_t epoch_ = 0;  // fork_epoch() is never 0, so the first draw fills.
  std::size_t next_ = Capacity;
};

constexpr std::size_t kKeyStockBytes = 64 * kKeyBytes;

// Where a thread keeps keys to come. They are as secret as keys in use: without a page that can be
// pinned there is no stock, whatever the policy of the key that is being drawn.
class KeyStock {
 public:
  std::optional<MutableBytes> pinned() {
    const std::uint64_t epoch = fork_epoch();
    if (epoch != epoch_) [[unlikely]] {  // A child inherits the page, but not its pinning.
      epoch_ = epoch;
      region_ = SecretRegion();
      auto made = SecretRegion::create(kKeyStockBytes, LockPolicy::kRequired);
      // A child must not even know what its parent will use.
      if (made) ::madvise(made->bytes().data(), kKeyStockBytes, MADV_WIPEONFORK);
      if (made) region_ = std::move(*made);
    }
    if (!region_.locked()) return std::nullopt;
    return region_.bytes();
  }

 private:
  std::uint64_t epoch_ = 0;
  SecretRegion region_;
};

}  // namespace

std::uint64_t fork_epoch() noexcept {
  static const bool mapped = [] {
    g_epoch = &g_fallback;
    g_epoch = map_epoch();
    return true;
  }();
  static_cast<void>(mapped);
  std::uint64_t seen = g_epoch->load(std::memory_order_relaxed);
  if (seen != 0) [[likely]]
    return seen;
  // Just started, or just forked. Several threads of a child may get here: the first one decides.
  const std::uint64_t next = g_last_epoch.fetch_add(1, std::memory_order_relaxed) + 1;
  return g_epoch->compare_exchange_strong(seen, next, std::memory_order_relaxed) ? next : seen;
}

Result<void> draw_nonce(std::span<std::byte, kNonceBytes> into) {
  static constexpr std::size_t kCapacity = 256 * kNonceBytes;
  thread_local Buffer<kCapacity, RAND_bytes> buffer;
  thread_local std::array<std::byte, kCapacity> storage;
  const auto used = buffer.take(into, storage);
  if (!used) return fail(used.error());
  return {};
}

Result<void> draw_key(std::span<std::byte, kKeyBytes> into) {
  thread_local Buffer<kKeyStockBytes, RAND_priv_bytes> buffer;
  thread_local KeyStock stock;
  const std::optional<MutableBytes> storage = stock.pinned();
  if (!storage) {
    if (RAND_priv_bytes(octets(MutableBytes(into)), kKeyBytes) != 1) {
      return openssl_failure("no randomness");
    }
    return {};
  }
  const auto used = buffer.take(into, *storage);
  if (!used) return fail(used.error());
  cleanse(*used);
  return {};
}

}  // namespace plimsoll::vault
