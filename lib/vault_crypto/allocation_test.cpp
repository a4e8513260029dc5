// Counts every allocation of this binary, C++'s and OpenSSL's: a seal or an open with the caller's
// buffer makes none. A binary of its own, because it replaces operator new and OpenSSL's allocator.

#include <gtest/gtest.h>
#include <openssl/crypto.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "lib/vault_crypto/bags.hpp"
#include "lib/vault_crypto/test_support.hpp"

namespace {

std::atomic<long> g_allocations{0};

void* counted(std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes == 0 ? 1 : bytes);
}

// OpenSSL takes other allocators only before its first allocation.
[[maybe_unused]] const int g_installed =
    CRYPTO_set_mem_functions([](std::size_t bytes, const char*, int) { return counted(bytes); },
                             [](void* at, std::size_t bytes, const char*, int) {
                               g_allocations.fetch_add(1, std::memory_order_relaxed);
                               return std::realloc(at, bytes);
                             },
                             [](void* at, const char*, int) { std::free(at); });

}  // namespace

void* operator new(std::size_t bytes) {
  void* const at = counted(bytes);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace plimsoll::vault {
namespace {

using testing::Buffer;
using testing::must;

template <class Body>
long allocations_of(int times, Body body) {
  for (int i = 0; i < 300; ++i) body();  // Warm: buffers and contexts of this thread exist.
  const long before = g_allocations;
  for (int i = 0; i < times; ++i) body();
  return g_allocations - before;
}

class Allocations : public ::testing::TestWithParam<std::size_t> {
 protected:
  std::unique_ptr<KeyRing> ring_ = testing::make_ring();
  VaultSession session_ = must(VaultSession::create(*ring_));
  Buffer plain_ = Buffer(GetParam(), std::byte{1});
  Buffer sealed_ = Buffer(sealed_size(GetParam()));
  Buffer out_ = Buffer(GetParam());
};

TEST_P(Allocations, ASealUnderADataKeyMakesNone) {
  auto sealer = must(Sealer::create(must(session_.new_data_key())));
  EXPECT_EQ(allocations_of(1000, [&] { must(sealer.seal(bytes_of("c"), plain_, sealed_)); }), 0);
}

TEST_P(Allocations, AnOpenUnderADataKeyMakesNone) {
  must(session_.seal(bytes_of("c"), plain_, sealed_));
  auto opener = must(Opener::create(must(session_.unwrap(sealed_))));
  EXPECT_EQ(allocations_of(1000, [&] { must(opener.open(bytes_of("c"), sealed_, out_)); }), 0);
}

TEST_P(Allocations, ASealWithAFreshDataKeyMakesNone) {
  EXPECT_EQ(allocations_of(1000, [&] { must(session_.seal(bytes_of("c"), plain_, sealed_)); }), 0);
}

TEST_P(Allocations, AnOpenWithItsUnwrapMakesNone) {
  must(session_.seal(bytes_of("c"), plain_, sealed_));
  EXPECT_EQ(allocations_of(1000, [&] { must(session_.open(bytes_of("c"), sealed_, out_)); }), 0);
}

TEST_P(Allocations, ARewrapMakesNone) {
  must(session_.seal(bytes_of("c"), plain_, sealed_));
  EXPECT_EQ(allocations_of(1000, [&] { must(session_.rewrap(sealed_)); }), 0);
}

TEST_P(Allocations, ARequestReadMakesNone) {
  must(session_.seal(bytes_of("c"), plain_, sealed_));
  Published<SealedBag> bag(must(SealedBag::of(std::vector<SealedSecret>{{"name", "c", sealed_}})));
  auto reader = must(RequestReader::create(bag, *ring_, 16));
  EXPECT_EQ(allocations_of(1000, [&] { must(reader.read("name", out_)); }), 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Allocations, ::testing::Values(0, 64, 1024, 65536));

TEST(AllocationCount, SeesCppAndOpenSsl) {
  ASSERT_EQ(g_installed, 1) << "OpenSSL allocated before the counter was in place";
  const long before = g_allocations;
  void* const at = OPENSSL_malloc(16);
  EXPECT_EQ(g_allocations, before + 1);
  OPENSSL_free(at);
  std::make_unique<int>(1).reset();
  EXPECT_GE(g_allocations, before + 1);
}

}  // namespace
}  // namespace plimsoll::vault
