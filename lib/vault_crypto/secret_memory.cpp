#include "lib/vault_crypto/secret_memory.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <system_error>
#include <vector>

#include "lib/vault_crypto/openssl_error.hpp"
#include "lib/vault_crypto/random.hpp"

namespace plimsoll::vault {
namespace {

std::atomic<std::size_t> g_locked{0};
std::atomic<std::size_t> g_pageable{0};

std::string lock_refused(std::size_t bytes, int error) {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return fmt::format(
      "cannot pin {} bytes for secrets ({}): RLIMIT_MEMLOCK is {} bytes, {} are in use; raise it "
      "(ulimit -l, LimitMEMLOCK=) or choose LockPolicy::kBestEffort",
      bytes, std::generic_category().message(error), limit.rlim_cur, locked_memory().locked);
}

// Free slots of the shared regions. It is never destroyed, so that a key in a static object may end
// at any time; regions are kept for reuse, always zeroed.
class SlotPool {
 public:
  static SlotPool& instance() {
    static SlotPool* const pool = new SlotPool;
    return *pool;
  }

  Result<std::byte*> take(LockPolicy policy) {
    const std::scoped_lock lock(mutex_);
    // A slot from a pageable region must not serve a caller who requires pinned memory.
    auto& preferred = policy == LockPolicy::kRequired || !locked_.empty() ? locked_ : pageable_;
    if (preferred.empty()) {
      auto grown = grow(policy);
      if (!grown) return fail(grown.error());
    }
    auto& from = !locked_.empty() ? locked_ : pageable_;
    std::byte* slot = from.back();
    from.pop_back();
    return slot;
  }

  void give_back(std::byte* slot) noexcept {
    cleanse({slot, kKeyBytes});
    const std::scoped_lock lock(mutex_);
    const bool pageable = std::ranges::any_of(regions_, [slot](const SecretRegion& region) {
      return !region.locked() && slot >= region.bytes().data() &&
             slot < region.bytes().data() + region.bytes().size();
    });
    (pageable ? pageable_ : locked_).push_back(slot);  // Capacity was reserved by grow().
  }

 private:
  static constexpr std::size_t kRegionBytes = 16 * 1024;

  Result<void> grow(LockPolicy policy) {
    auto region = SecretRegion::create(kRegionBytes, policy);
    if (!region) return fail(region.error());
    auto& free = region->locked() ? locked_ : pageable_;
    free.reserve((regions_.size() + 1) * (kRegionBytes / kKeyBytes));
    for (std::size_t at = 0; at < kRegionBytes; at += kKeyBytes) {
      free.push_back(region->bytes().data() + at);
    }
    regions_.push_back(std::move(*region));
    return {};
  }

  std::mutex mutex_;
  std::vector<SecretRegion> regions_;
  std::vector<std::byte*> locked_;
  std::vector<std::byte*> pageable_;
};

struct FreeMac {
  void operator()(EVP_MAC* mac) const noexcept { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const noexcept { EVP_MAC_CTX_free(context); }
};

// Keyed anew for each digest and with zeros behind it; the context itself lives as long as its
// thread.
EVP_MAC_CTX* digest_context() {
  static const std::unique_ptr<EVP_MAC, FreeMac> mac(EVP_MAC_fetch(nullptr, "BLAKE2BMAC", nullptr));
  thread_local const std::unique_ptr<EVP_MAC_CTX, FreeMac> context = [] {
    std::unique_ptr<EVP_MAC_CTX, FreeMac> made(mac ? EVP_MAC_CTX_new(mac.get()) : nullptr);
    std::size_t size = sizeof(KeyDigest);
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t("size", &size),
                                 OSSL_PARAM_construct_end()};
    if (made && EVP_MAC_CTX_set_params(made.get(), params) != 1) made.reset();
    return made;
  }();
  return context.get();
}

}  // namespace

LockedMemory locked_memory() noexcept {
  return {g_locked.load(std::memory_order_relaxed), g_pageable.load(std::memory_order_relaxed)};
}

Result<SecretRegion> SecretRegion::create(std::size_t bytes, LockPolicy policy) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > SIZE_MAX - page) {
    return fail(Errc::kInvalidArgument, fmt::format("cannot map {} bytes of secret memory", bytes));
  }
  SecretRegion region;
  const std::size_t mapped = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
  void* const at =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return fail(Errc::kInternal, fmt::format("cannot map {} bytes of secret memory: {}", mapped,
                                             std::generic_category().message(errno)));
  }
  region.data_ = static_cast<std::byte*>(at);
  region.size_ = bytes;
  region.mapped_ = mapped;
  // mlock2 and not mlock: the sanitizers turn the latter into nothing, and the limit would go
  // untested under them.
  region.locked_ = ::mlock2(at, mapped, 0) == 0;
  const int error = errno;
  (region.locked_ ? g_locked : g_pageable).fetch_add(mapped, std::memory_order_relaxed);
  if (!region.locked_ && policy == LockPolicy::kRequired) {
    return fail(Errc::kRefused, lock_refused(mapped, error));
  }
  ::madvise(at, mapped, MADV_DONTDUMP);  // Kernels without it only dump more.
  return region;
}

SecretRegion::~SecretRegion() {
  if (data_ == nullptr) return;
  ::mprotect(data_, mapped_, PROT_READ | PROT_WRITE);
  cleanse({data_, mapped_});
  (locked_ ? g_locked : g_pageable).fetch_sub(mapped_, std::memory_order_relaxed);
  ::munmap(data_, mapped_);  // Unpins as well.
}

void SecretRegion::swap(SecretRegion& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  std::swap(locked_, other.locked_);
}

Result<void> SecretRegion::make_read_only() {
  if (data_ != nullptr && ::mprotect(data_, mapped_, PROT_READ) != 0) {
    return fail(Errc::kInternal, fmt::format("cannot write-protect secret memory: {}",
                                             std::generic_category().message(errno)));
  }
  return {};
}

Result<SecretKey> SecretKey::zero(LockPolicy policy) {
  auto slot = SlotPool::instance().take(policy);
  if (!slot) return fail(slot.error());
  return SecretKey(*slot);
}

Result<SecretKey> SecretKey::generate(LockPolicy policy) {
  auto key = zero(policy);
  if (!key) return key;
  auto filled = draw_key(key->mutable_view());
  if (!filled) return fail(filled.error());
  return key;
}

Result<SecretKey> SecretKey::copy_of(View material, LockPolicy policy) {
  auto key = zero(policy);
  if (key) std::ranges::copy(material, key->mutable_view().begin());
  return key;
}

SecretKey::~SecretKey() {
  if (slot_ != nullptr) SlotPool::instance().give_back(slot_);
}

void cleanse(MutableBytes bytes) noexcept { OPENSSL_cleanse(bytes.data(), bytes.size()); }

bool equal_in_constant_time(Bytes a, Bytes b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<KeyDigest> key_digest(SecretKey::View key, std::string_view label) {
  static constexpr std::array<unsigned char, kKeyBytes> kNoKey{};
  EVP_MAC_CTX* const context = digest_context();
  if (context == nullptr) return openssl_failure("cannot set up BLAKE2BMAC");
  KeyDigest digest{};
  std::size_t written = 0;
  const Bytes text = bytes_of(label);
  const bool made =
      EVP_MAC_init(context, octets(Bytes(key)), key.size(), nullptr) == 1 &&
      EVP_MAC_update(context, octets(text), text.size()) == 1 &&
      EVP_MAC_final(context, octets(MutableBytes(digest)), &written, digest.size()) == 1 &&
      written == digest.size();
  // The context keeps the plain key beside its state, in memory that is not pinned, until it is
  // keyed with another: final does not clear it.
  const bool forgotten = EVP_MAC_init(context, kNoKey.data(), kNoKey.size(), nullptr) == 1;
  if (!made || !forgotten) return openssl_failure("BLAKE2BMAC failed");
  return digest;
}

}  // namespace plimsoll::vault
