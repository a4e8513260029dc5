// The invariants of the group, and for each a negative control: the protection is taken away, and
// the count goes red.
#include "lib/vault_crypto/checks.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "lib/vault_crypto/bags.hpp"
#include "lib/vault_crypto/test_support.hpp"

namespace plimsoll::vault::checks {
namespace {

using testing::Buffer;
using testing::must;
using Kind = Reading::Kind;

TEST(TellingPlaintext, SaysWhoseItIsAndWhichVersion) {
  const auto plain = telling_plaintext("a", 7, 1024);
  EXPECT_EQ(inspect("a", plain).kind, Kind::kRight);
  EXPECT_EQ(inspect("a", plain).version, 7u);
  EXPECT_EQ(inspect("b", plain).kind, Kind::kWrong);
  EXPECT_EQ(inspect("a", Bytes(plain).first(1023)).kind, Kind::kTorn);
  EXPECT_EQ(inspect("a", Bytes(plain).subspan(16)).kind, Kind::kTorn);
  EXPECT_EQ(inspect("a", {}).kind, Kind::kTorn);
}

TEST(TellingPlaintext, ControlAReadFromABufferUpdatedInPlaceIsTorn) {
  // Without an immutable bag a reader sees the value while it is half written.
  auto shared = telling_plaintext("a", 1, 256);
  const auto next = telling_plaintext("a", 2, 256);
  std::copy_n(next.begin(), 100, shared.begin());
  EXPECT_EQ(inspect("a", shared).kind, Kind::kTorn);
}

TEST(TellingPlaintext, ControlWithoutAContextASwappedRowOpensSilentlyAndIsWrong) {
  const auto ring = testing::make_ring();
  auto session = must(VaultSession::create(*ring));
  const auto seal = [&](std::string_view name, std::string_view context) {
    return testing::seal(session, context, text_of(telling_plaintext(name, 1, 64)));
  };
  Buffer out(64);
  const Buffer unbound = seal("row b", "");
  must(session.open({}, unbound, out));  // Asked for row a, given row b.
  EXPECT_EQ(inspect("row a", out).kind, Kind::kWrong);
  const Buffer bound = seal("row b", "row b");
  EXPECT_FALSE(session.open(bytes_of("row a"), bound, out));
}

TEST(NonceLog, SealsOfOneKeyRepeatNone) {
  const auto ring = testing::make_ring();
  auto session = must(VaultSession::create(*ring));
  auto sealer = must(Sealer::create(must(session.new_data_key())));
  NonceLog log;
  Buffer out(sealed_size(16));
  for (int i = 0; i < 2000; ++i) {
    must(sealer.seal({}, telling_plaintext("a", 1, 16), out));
    log.add_seal(out);
  }
  EXPECT_EQ(log.repeats(), 0);
  EXPECT_EQ(log.size(), 4000u);
}

TEST(NonceLog, ControlAFixedNonceIsARepeatEvenForTheSamePlaintext) {
  const auto ring = testing::make_ring();
  auto session = must(VaultSession::create(*ring));
  auto gcm = must(AesGcm::create(AesGcm::Direction::kSeal, testing::key_material(1)));
  const Buffer shape = testing::seal(session, "", text_of(telling_plaintext("a", 1, 16)));
  NonceLog log;
  for (int i = 0; i < 3; ++i) {
    Buffer sealed = shape;  // A writer that does not draw: key and nonce stay.
    const MutableBytes bytes(sealed);
    must(gcm.seal(Bytes(shape).subspan<120, 12>(), {}, telling_plaintext("a", 1, 16),
                  bytes.subspan(136, 16), bytes.last<16>()));
    log.add_seal(sealed);
  }
  EXPECT_EQ(log.repeats(), 2);
}

TEST(NonceLog, ControlAChildThatGoesOnWithItsParentsBufferRepeats) {
  // What fork does to a generator that does not notice: both sides draw the same bytes.
  const auto ring = testing::make_ring();
  auto session = must(VaultSession::create(*ring));
  Buffer parent = testing::seal(session, "", text_of(telling_plaintext("a", 1, 16)));
  Buffer child = parent;
  child.back() ^= std::byte{1};  // Another plaintext, under the same nonce.
  NonceLog log, theirs;
  log.add_stored(parent);
  theirs.add_stored(child);
  log.merge(theirs);
  EXPECT_EQ(log.repeats(), 1);
}

TEST(NonceLog, OneStoredSealSeenTwiceOrRewrappedIsNoRepeat) {
  const auto ring = testing::make_ring(2);
  auto session = must(VaultSession::create(*ring));
  Buffer sealed = testing::seal(session, "", text_of(telling_plaintext("a", 1, 16)));
  NonceLog log;
  log.add_stored(sealed);
  log.add_stored(sealed);
  std::ranges::copy(must(session.rewrap(sealed)), sealed.begin());
  log.add_stored(sealed);
  EXPECT_EQ(log.repeats(), 0);
}

// Arm A's count of failed reads: a rotation that forgets to give the readers the new key first.
TEST(FailedReads, ControlARotationThatDoesNotHandOutItsKeyFailsItsReaders) {
  const auto writers = testing::make_ring(1);
  const auto readers = testing::make_ring(1);
  auto writer = must(VaultSession::create(*writers));
  auto reader = must(VaultSession::create(*readers));
  Buffer sealed = testing::seal(writer, "a", "secret");
  must(writers->add(testing::master(2, 64)));
  must(writers->make_current(2));
  std::ranges::copy(must(writer.rewrap(sealed)), sealed.begin());
  EXPECT_EQ(testing::code_of(testing::open(reader, "a", sealed)), Errc::kNotFound);
  must(readers->add(testing::master(2, 64)));
  EXPECT_EQ(must(testing::open(reader, "a", sealed)), "secret");
}

}  // namespace
}  // namespace plimsoll::vault::checks
