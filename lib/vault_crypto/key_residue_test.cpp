// Looks through this process's own memory for the bytes of keys that it should have forgotten.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>

#include "lib/vault_crypto/bags.hpp"
#include "lib/vault_crypto/random.hpp"
#include "lib/vault_crypto/test_support.hpp"

namespace plimsoll::vault {
namespace {

using testing::Buffer;
using testing::must;

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kLargest = std::size_t{256} << 20;  // Above: a sanitizer's shadow.

struct Mapping {
  std::uintptr_t from, to;
};

// What this process can read and does not share with a file: heaps, stacks, variables, anonymous
// pages.
std::vector<Mapping> private_memory() {
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    char rights[5] = "";
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &from, &to, rights,
                    &inode) != 4) {
      throw std::runtime_error("/proc/self/maps has a line of another shape: " + line);
    }
    const bool ours = rights[0] == 'r' && (inode == 0 || rights[1] == 'w');
    if (ours && to - from <= kLargest) found.push_back({from, to});
  }
  return found;
}

// A key to look for, kept under a mask so that the search does not find itself.
class Trace {
 public:
  explicit Trace(SecretKey::View key) {
    for (std::size_t i = 0; i < kKeyBytes; ++i) masked_[i] = key[i] ^ kMask;
  }

  /// How often the key lies in memory: as it is, or with each word's bytes turned round, as some
  /// processors' expanded keys begin.
  [[nodiscard]] int copies() const {
    void* const at =
        ::mmap(nullptr, kChunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (at == MAP_FAILED || memory < 0) throw std::runtime_error("cannot read /proc/self/mem");
    const MutableBytes chunk(static_cast<std::byte*>(at), kChunk);
    const auto own = reinterpret_cast<std::uintptr_t>(at);
    int found = 0;
    for (const Mapping& mapping : private_memory()) {
      // The chunk shows what was read before it: it may have been joined to its neighbours.
      found += copies_in(memory, {mapping.from, std::clamp(own, mapping.from, mapping.to)}, chunk);
      found += copies_in(memory, {std::clamp(own + kChunk, mapping.from, mapping.to), mapping.to},
                         chunk);
    }
    ::close(memory);
    ::munmap(at, kChunk);
    return found;
  }

 private:
  static constexpr std::byte kMask{0xa5};

  [[nodiscard]] int copies_in(int memory, Mapping mapping, MutableBytes chunk) const {
    int found = 0;
    for (std::uintptr_t at = mapping.from; at + kKeyBytes <= mapping.to;) {
      const std::size_t wanted = std::min(chunk.size(), mapping.to - at);
      const ssize_t got = ::pread(memory, chunk.data(), wanted, static_cast<off_t>(at));
      if (got < static_cast<ssize_t>(kKeyBytes)) break;  // E.g. the kernel's own page of clocks.
      const Bytes bytes = chunk.first(static_cast<std::size_t>(got));
      found += occurrences(bytes, 0) + occurrences(bytes, 3);
      at += bytes.size() == wanted && at + wanted == mapping.to ? wanted
                                                                : bytes.size() - kKeyBytes + 1;
    }
    return found;
  }
  // `turn` 3 maps byte 0 of each word to 3, 1 to 2 and so on.
  [[nodiscard]] int occurrences(Bytes bytes, std::size_t turn) const {
    const int first = std::to_integer<int>(masked_[turn] ^ kMask);
    const std::byte* at = bytes.data();
    const std::byte* const end = at + bytes.size() - kKeyBytes + 1;
    int found = 0;
    while (at < end) {
      const void* const next = std::memchr(at, first, static_cast<std::size_t>(end - at));
      if (next == nullptr) break;
      at = static_cast<const std::byte*>(next);
      std::size_t same = 0;
      while (same < kKeyBytes && at[same] == (masked_[same ^ turn] ^ kMask)) ++same;
      found += same == kKeyBytes ? 1 : 0;
      ++at;
    }
    return found;
  }

  std::array<std::byte, kKeyBytes> masked_;
};

class KeyResidue : public ::testing::Test {
 protected:
  // The data key of an envelope, by a session that has ended when this returns.
  Trace data_key_of(Bytes envelope) {
    auto session = must(VaultSession::create(*ring_));
    return Trace(must(session.unwrap(envelope))->key());
  }

  std::unique_ptr<KeyRing> ring_ = testing::make_ring();
};

TEST_F(KeyResidue, TheSearchFindsAKeyThatIsHeldAndNoneThatWasNever) {
  const auto key = must(SecretKey::generate());
  EXPECT_EQ(Trace(key.view()).copies(), 1);
  std::array<std::byte, kKeyBytes> strange{};
  must(draw_key(strange));
  const Trace trace{SecretKey::View(strange)};
  cleanse(strange);
  EXPECT_EQ(trace.copies(), 0);
}

TEST_F(KeyResidue, ADigestLeavesNothingOfItsKey) {
  std::optional<SecretKey> key(must(SecretKey::generate()));
  const Trace trace(key->view());
  must(key_digest(key->view(), "label"));
  EXPECT_EQ(trace.copies(), 1) << "beside the key's own slot";
  key.reset();
  EXPECT_EQ(trace.copies(), 0);
}

TEST_F(KeyResidue, ASessionThatHasEndedLeavesNoDataKey) {
  Buffer sealed;
  {
    auto session = must(VaultSession::create(*ring_));
    sealed = testing::seal(session, "context", "plaintext");
    EXPECT_EQ(must(testing::open(session, "context", sealed)), "plaintext");
    EXPECT_GT(data_key_of(sealed).copies(), 0) << "a session's contexts are keyed";
  }
  EXPECT_EQ(data_key_of(sealed).copies(), 0);
}

TEST_F(KeyResidue, ASessionThatIsToldToReleaseKeepsNoKey) {
  auto session = must(VaultSession::create(*ring_));
  const Buffer sealed = testing::seal(session, "context", "plaintext");
  EXPECT_GT(data_key_of(sealed).copies(), 0) << "the sealing context is keyed";
  session.release();
  EXPECT_EQ(data_key_of(sealed).copies(), 0);

  EXPECT_EQ(must(testing::open(session, "context", sealed)), "plaintext");
  EXPECT_GT(data_key_of(sealed).copies(), 0) << "the opening context is keyed";
  session.release();
  EXPECT_EQ(data_key_of(sealed).copies(), 0);
  EXPECT_EQ(must(testing::open(session, "context", sealed)), "plaintext");
}

TEST_F(KeyResidue, AMasterKeyThatIsRetiredIsGoneOnceEachReaderHasReleased) {
  std::optional<Trace> trace;
  Buffer sealed;
  auto reader = [&] {
    auto key = must(SecretKey::generate());
    trace.emplace(key.view());
    must(ring_->add(must(MasterKey::create(2, key.view()))));
    must(ring_->make_current(2));
    return must(VaultSession::create(*ring_));
  }();
  testing::seal(reader, "context", "plaintext");
  must(ring_->add(testing::master(3, 96)));
  must(ring_->make_current(3));
  must(ring_->retire(2));
  EXPECT_GT(trace->copies(), 0) << "the session still has it,";
  reader.release();
  EXPECT_EQ(trace->copies(), 0) << "and lets go when told";
}

TEST_F(KeyResidue, ARequestReaderThatIsToldToReleaseKeepsNoKeyAndReadsOn) {
  auto session = must(VaultSession::create(*ring_));
  const Buffer sealed = testing::seal(session, "context", "plaintext");
  session.release();
  Published<SealedBag> bag(
      must(SealedBag::of(std::vector<SealedSecret>{{"name", "context", sealed}})));
  auto reader = must(RequestReader::create(bag, *ring_, 16));
  Buffer out(9);
  EXPECT_EQ(must(reader.read("name", out)), 9u);
  EXPECT_GT(data_key_of(sealed).copies(), 0) << "its cache holds the key";
  const std::weak_ptr<const SealedBag> old_bag = bag.hold();
  bag.publish(must(SealedBag::of(std::vector<SealedSecret>{{"name", "context", sealed}})));

  reader.release();

  EXPECT_EQ(data_key_of(sealed).copies(), 0);
  EXPECT_TRUE(old_bag.expired());
  EXPECT_EQ(must(reader.read("name", out)), 9u);
  EXPECT_EQ(text_of(out), "plaintext");
  EXPECT_EQ(reader.unwraps(), 2u);
}

}  // namespace
}  // namespace plimsoll::vault
