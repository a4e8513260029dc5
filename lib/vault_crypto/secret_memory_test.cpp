#include "lib/vault_crypto/secret_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "lib/vault_crypto/random.hpp"
#include "lib/vault_crypto/test_support.hpp"

namespace plimsoll::vault {
namespace {

using testing::must;

// The VmFlags line of the mapping that holds `address`.
std::string flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      const auto at = reinterpret_cast<unsigned long>(address);
      inside = at >= from && at < to;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

// Runs `body` in a child that may pin nothing: RLIMIT_MEMLOCK 0, and no root to overrule it.
template <class Body>
void without_memlock(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) ::_exit(101);
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(102);
    ::_exit(body());
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
}

TEST(SecretMemory, IsPinnedAndLeftOutOfCoreDumps) {
  auto region = must(SecretRegion::create(100));
  EXPECT_TRUE(region.locked());
  EXPECT_EQ(region.bytes().size(), 100u);
  const std::string flags = flags_of(region.bytes().data());
  if (flags.empty()) GTEST_SKIP() << "this kernel shows no VmFlags in /proc/self/smaps";
  EXPECT_THAT(flags, ::testing::HasSubstr(" lo "));
  EXPECT_THAT(flags, ::testing::HasSubstr(" dd "));
}

TEST(SecretMemory, CountsWhatItPinsAndGivesItBack) {
  const auto before = locked_memory().locked;
  {
    const auto region = must(SecretRegion::create(5000));
    EXPECT_GE(locked_memory().locked, before + 5000);
  }
  EXPECT_EQ(locked_memory().locked, before);
}

TEST(SecretMemory, SaysWhyItCannotPinAndHowToAllowIt) {
  without_memlock([] {
    const auto region = SecretRegion::create(100);
    if (region) return 1;
    if (region.error().code != Errc::kRefused) return 2;
    if (region.error().message.find("RLIMIT_MEMLOCK is 0 bytes") == std::string::npos) return 3;
    return locked_memory().pageable == 0 ? 0 : 4;
  });
}

TEST(SecretMemory, UnderBestEffortGoesOnAndCountsThePageableBytes) {
  without_memlock([] {
    const auto region = SecretRegion::create(100, LockPolicy::kBestEffort);
    if (!region || region->locked()) return 1;
    return locked_memory().pageable >= 100 ? 0 : 2;
  });
}

TEST(SecretMemory, APageableSlotDoesNotServeAKeyThatMustBePinned) {
  without_memlock([] {
    std::vector<SecretKey> held;  // Until the pinned slots that the parent left over are used up.
    for (;;) {
      auto key = SecretKey::zero(LockPolicy::kBestEffort);
      if (!key) return 1;
      held.push_back(std::move(*key));
      if (locked_memory().pageable != 0) break;
    }
    held.pop_back();  // Now a pageable slot is free.
    const auto key = SecretKey::zero(LockPolicy::kRequired);
    if (key) return 2;
    return key.error().code == Errc::kRefused ? 0 : 3;
  });
}

TEST(SecretMemory, KeysToComeAreNotDrawnIntoAPageThatIsNotPinned) {
  const auto draw = [] {
    std::array<std::byte, kKeyBytes> key{};
    must(draw_key(key));
    return key;
  };
  draw();  // This thread has keys in stock, in a pinned page whose pinning no child inherits.
  const auto held = locked_memory().locked;
  without_memlock([&] {
    if (draw() == draw()) return 1;
    if (locked_memory().pageable != 0) return 2;
    return locked_memory().locked < held ? 0 : 3;
  });
  std::thread([&] {  // In a thread that has none, the child makes a first one.
    without_memlock([&] {
      if (draw() == draw()) return 1;
      return locked_memory().pageable == 0 ? 0 : 2;
    });
  })
      .join();
}

TEST(SecretMemoryDeathTest, AReadOnlyRegionCannotBeWritten) {
  auto region = must(SecretRegion::create(64));
  region.bytes()[0] = std::byte{7};
  must(region.make_read_only());
  EXPECT_EQ(region.bytes()[0], std::byte{7});
  EXPECT_DEATH(region.bytes()[0] = std::byte{8}, "");
}

TEST(SecretKey, IsZeroedWhenItEnds) {
  const std::byte* slot = nullptr;
  {
    const auto key = must(SecretKey::copy_of(testing::key_material(1)));
    slot = key.view().data();
    EXPECT_EQ(slot[5], std::byte{6});
  }
  // The region outlives its keys, so the slot may be looked at.
  EXPECT_TRUE(std::all_of(slot, slot + kKeyBytes, [](std::byte b) { return b == std::byte{0}; }));
}

TEST(SecretKey, ThousandsShareAFewPagesAndNoBytes) {
  const auto before = locked_memory().locked;
  std::vector<SecretKey> keys;
  std::set<const std::byte*> slots;
  for (int i = 0; i < 2000; ++i) {
    keys.push_back(must(SecretKey::generate()));
    slots.insert(keys.back().view().data());
  }
  EXPECT_EQ(slots.size(), 2000u);
  EXPECT_LE(locked_memory().locked, before + 2000 * kKeyBytes + 32 * 1024);
}

TEST(SecretKey, MovesWithoutLeavingACopy) {
  auto from = must(SecretKey::copy_of(testing::key_material(1)));
  const auto* slot = from.view().data();
  const SecretKey to = std::move(from);
  EXPECT_EQ(to.view().data(), slot);
}

TEST(KeyDigest, IsKeyedBlake2b) {
  // Fact: hashlib.blake2b(b"plimsoll vault data key commitment", key=bytes(range(32)),
  // digest_size=32) of CPython 3.11.
  const auto digest =
      must(key_digest(testing::key_material(0), "plimsoll vault data key commitment"));
  EXPECT_TRUE(std::ranges::equal(digest, testing::from_hex("39237438c127f7f09b805c4c98a0289b"
                                                           "36201b152bfa8c95c96db2e308d632bb")));
}

TEST(ConstantTime, ComparesLengthAndEveryByte) {
  const testing::Buffer a(40, std::byte{1});
  EXPECT_TRUE(equal_in_constant_time(a, testing::Buffer(a)));
  EXPECT_FALSE(equal_in_constant_time(a, Bytes(a).first(39)));
  for (std::size_t i = 0; i < a.size(); ++i) {
    testing::Buffer b(a);
    b[i] = std::byte{2};
    EXPECT_FALSE(equal_in_constant_time(a, b));
  }
}

}  // namespace
}  // namespace plimsoll::vault
