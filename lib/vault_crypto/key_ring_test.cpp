#include "lib/vault_crypto/key_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "lib/vault_crypto/test_support.hpp"

namespace plimsoll::vault {
namespace {

using testing::Buffer;
using testing::code_of;
using testing::must;

TEST(KeyRing, RefusesAnotherKeyUnderAKnownVersionAndAcceptsTheSame) {
  KeyRing ring;
  must(ring.add(testing::master(1, 32)));
  must(ring.add(testing::master(1, 32)));
  EXPECT_EQ(ring.hold()->keys.size(), 1u);
  EXPECT_EQ(code_of(ring.add(testing::master(1, 33))), Errc::kInvalidArgument);
}

TEST(KeyRing, VersionZeroIsNoVersion) {
  EXPECT_EQ(code_of(MasterKey::create(0, testing::key_material(1))), Errc::kInvalidArgument);
}

TEST(KeyRing, CurrentMovesForwardOnlyAndOnlyToAKeyThatIsHeld) {
  KeyRing ring;
  EXPECT_EQ(code_of(ring.make_current(1)), Errc::kNotFound);
  must(ring.add(testing::master(2, 64)));
  must(ring.add(testing::master(1, 32)));
  must(ring.make_current(2));
  EXPECT_EQ(code_of(ring.make_current(1)), Errc::kInvalidArgument);
  EXPECT_EQ(ring.hold()->current, 2u);
}

TEST(KeyRing, DoesNotRetireTheCurrentKeyOrOneItHasNot) {
  const auto ring = testing::make_ring(2);
  EXPECT_EQ(code_of(ring->retire(2)), Errc::kInvalidArgument);
  EXPECT_EQ(code_of(ring->retire(3)), Errc::kNotFound);
  must(ring->retire(1));
  EXPECT_EQ(code_of(ring->retire(1)), Errc::kNotFound);
}

TEST(KeyRing, ARetiredKeyIsZeroedOnceTheLastSessionHasMovedOn) {
  const auto ring = testing::make_ring(2);
  auto session = must(VaultSession::create(*ring));
  auto idle = must(VaultSession::create(*ring));
  const auto old_key = testing::master(1, 32);
  {
    KeyRing old;  // An envelope under version 1, so that both sessions key a context with it.
    must(old.add(old_key));
    must(old.make_current(1));
    auto sealing = must(VaultSession::create(old));
    const Buffer sealed = testing::seal(sealing, "c", "secret");
    EXPECT_EQ(must(testing::open(session, "c", sealed)), "secret");
    EXPECT_EQ(must(testing::open(idle, "c", sealed)), "secret");
  }
  const auto retired = must(ring->retire(1));
  EXPECT_FALSE(retired.expired());
  testing::seal(session, "c", "any use");
  EXPECT_FALSE(retired.expired());  // The idle session still has it,
  idle.release();
  EXPECT_TRUE(retired.expired());  // and lets go when told.
}

// Readers open envelopes of many versions while keys are added, made current and retired: what the
// ring holds opens, and nothing opens wrongly.
TEST(KeyRing, ReadersGoOnWhileKeysComeAndGo) {
  constexpr std::uint32_t kRounds = 60;
  const auto ring = testing::make_ring(1);
  // The envelope that readers look at: always of a version that the ring holds.
  Published<Buffer> latest([&] {
    auto session = must(VaultSession::create(*ring));
    return std::make_shared<const Buffer>(testing::seal(session, "row", "the secret"));
  }());
  std::atomic<bool> stop{false};
  std::atomic<int> opened{0}, failed{0}, wrong{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      auto session = must(VaultSession::create(*ring));
      Published<Buffer>::Reader reader(latest);
      while (!stop) {
        const Buffer envelope = reader.get();
        const auto text = testing::open(session, "row", envelope);
        // It may have been replaced, and then its key retired, between the two steps.
        if (!text && reader.get() != envelope) continue;
        ++(!text ? failed : *text == "the secret" ? opened : wrong);
      }
    });
  }
  auto session = must(VaultSession::create(*ring));
  for (std::uint32_t version = 2; version <= kRounds; ++version) {
    must(ring->add(testing::master(version, version)));
    must(ring->make_current(version));
    Buffer next = *latest.hold();
    std::ranges::copy(must(session.rewrap(next)), next.begin());
    latest.publish(std::make_shared<const Buffer>(std::move(next)));
    must(ring->retire(version - 1));
    const int before = opened + failed;
    while (opened + failed < before + 6) std::this_thread::yield();
  }
  stop = true;
  for (auto& thread : readers) thread.join();
  EXPECT_GT(opened, 0);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace plimsoll::vault
