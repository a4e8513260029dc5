#include "lib/vault_crypto/envelope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include "lib/vault_crypto/test_support.hpp"

namespace plimsoll::vault {
namespace {

using testing::Buffer;
using testing::code_of;
using testing::must;

constexpr std::string_view kContext = "tenant-a/db/password";
constexpr std::string_view kPlain = "correct horse battery staple";

// Fact: written by forty lines of Python (hashlib, and AESGCM of the package cryptography) from the
// layout in envelope.hpp: master key 0x20..0x3f as version 7, data key 0x00..0x1f, nonces 0x40..
// and 0x50...
constexpr std::string_view kGolden =
    "504c4d560101008839237438c127f7f09b805c4c98a0289b36201b152bfa8c95"
    "c96db2e308d632bb000000077b2988d1b884e05775f58b4b30221f3740414243"
    "4445464748494a4bc255bf825473c30c5a3b5a2389475f7d039f8f90e155b1c9"
    "76e78e1b7cf7d11d1c16458390f09e5bbeffd193b4fa3d8f5051525354555657"
    "58595a5b0000001cf14844068133cdc634d94f16a8c1e1b4975b98995b51e956"
    "45f98cbecde874d823c2c2ac8a683a0472717728";

class Envelope : public ::testing::Test {
 protected:
  std::unique_ptr<KeyRing> ring_ = testing::make_ring();
  VaultSession session_ = must(VaultSession::create(*ring_));
};

TEST_F(Envelope, OpensWhatAnotherProgramWroteByTheDocumentedLayout) {
  must(ring_->add(testing::master(7, 0x20)));
  EXPECT_EQ(must(testing::open(session_, kContext, testing::from_hex(kGolden))), kPlain);
}

TEST_F(Envelope, CarriesTheDocumentedFieldsInTheirPlaces) {
  const Buffer sealed = testing::seal(session_, kContext, kPlain);
  EXPECT_EQ(text_of(Bytes(sealed).first(4)), "PLMV");
  EXPECT_EQ(sealed[4], std::byte{1});
  EXPECT_EQ(sealed[5], std::byte{1});
  EXPECT_EQ(load_u16(Bytes(sealed).subspan(6)), 136);
  EXPECT_EQ(load_u32(Bytes(sealed).subspan(40)), 1u);
  EXPECT_TRUE(std::ranges::equal(Bytes(sealed).subspan(44, 16), testing::master(1, 32)->id()));
  EXPECT_EQ(load_u32(Bytes(sealed).subspan(132)), kPlain.size());
  EXPECT_EQ(sealed.size(), 152 + kPlain.size());
}

TEST_F(Envelope, ABitFlippedAtAnyPlaceIsNoticedAndNothingIsReleased) {
  const Buffer sealed = testing::seal(session_, kContext, kPlain);
  for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    Buffer flipped = sealed, out(kPlain.size() + 300, std::byte{0xaa});
    flipped[bit / 8] ^= std::byte{1} << bit % 8;
    const auto opened = session_.open(bytes_of(kContext), flipped, out);
    ASSERT_FALSE(opened) << "bit " << bit;
    const std::size_t byte = bit / 8;
    const bool names_a_format = byte == 4 || byte == 5;
    const bool names_a_key = byte >= 40 && byte < 60;
    ASSERT_EQ(opened.error().code, names_a_format ? Errc::kRejected
                                   : names_a_key  ? Errc::kNotFound
                                                  : Errc::kCorrupt)
        << "bit " << bit << ": " << opened.error().message;
    // What was not reached is as it was; what was reached is zero. No byte of the plaintext.
    ASSERT_THAT(out, ::testing::Each(::testing::AnyOf(std::byte{0xaa}, std::byte{0})))
        << "bit " << bit;
  }
}

TEST_F(Envelope, ABitFlippedAtAnyPlaceIsNoticedUnderAnUnwrappedDataKeyToo) {
  const Buffer sealed = testing::seal(session_, kContext, kPlain);
  auto opener = must(Opener::create(must(session_.unwrap(sealed))));
  Buffer out(kPlain.size());
  for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    Buffer flipped = sealed;
    flipped[bit / 8] ^= std::byte{1} << bit % 8;
    ASSERT_FALSE(opener.open(bytes_of(kContext), flipped, out)) << "bit " << bit;
  }
  EXPECT_EQ(must(opener.open(bytes_of(kContext), sealed, out)), kPlain.size());
}

TEST_F(Envelope, CutShortAtAnyLengthIsRefusedWithoutReadingPastItsEnd) {
  const Buffer sealed = testing::seal(session_, kContext, kPlain);
  // The bytes end where a page without access begins: reading past them is a crash.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const map =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  auto* const edge = static_cast<std::byte*>(map) + page;
  ASSERT_EQ(::mprotect(edge, page, PROT_NONE), 0);
  for (std::size_t length = 0; length < sealed.size(); ++length) {
    std::copy_n(sealed.begin(), length, edge - length);
    const auto opened = testing::open(session_, kContext, Bytes(edge - length, length));
    EXPECT_EQ(code_of(opened),
              length < envelope::kOverhead ? Errc::kInvalidArgument : Errc::kCorrupt)
        << length;
  }
  ::munmap(map, 2 * page);
}

TEST_F(Envelope, BytesAppendedAreRefused) {
  Buffer sealed = testing::seal(session_, kContext, kPlain);
  sealed.push_back(std::byte{0});
  EXPECT_EQ(code_of(testing::open(session_, kContext, sealed)), Errc::kCorrupt);
}

TEST_F(Envelope, DoesNotOpenUnderAnotherContext) {
  const Buffer sealed = testing::seal(session_, kContext, kPlain);
  for (const std::string_view other :
       {"", "tenant-a/db/passwor", "tenant-a/db/password ", "tenant-b/db/password"}) {
    Buffer out(kPlain.size(), std::byte{0xaa});
    EXPECT_EQ(code_of(session_.open(bytes_of(other), sealed, out)), Errc::kCorrupt) << other;
    EXPECT_THAT(out, ::testing::Each(std::byte{0})) << other;
  }
}

TEST_F(Envelope, SwappedBetweenTwoRowsNeitherOpens) {
  const Buffer a = testing::seal(session_, "row a", "secret of a");
  const Buffer b = testing::seal(session_, "row b", "secret of b");
  EXPECT_EQ(code_of(testing::open(session_, "row a", b)), Errc::kCorrupt);
  EXPECT_EQ(code_of(testing::open(session_, "row b", a)), Errc::kCorrupt);
}

TEST_F(Envelope, PartsOfTwoEnvelopesDoNotMakeAThird) {
  const Buffer a = testing::seal(session_, kContext, "secret of a");
  const Buffer b = testing::seal(session_, kContext, "secret of b");
  for (std::size_t cut = 1; cut < a.size(); ++cut) {
    if (std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(cut), b.begin())) continue;
    if (std::equal(a.begin() + static_cast<std::ptrdiff_t>(cut), a.end(),
                   b.begin() + static_cast<std::ptrdiff_t>(cut))) {
      continue;
    }
    Buffer spliced(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(cut));
    spliced.insert(spliced.end(), b.begin() + static_cast<std::ptrdiff_t>(cut), b.end());
    EXPECT_EQ(code_of(testing::open(session_, kContext, spliced)), Errc::kCorrupt) << cut;
  }
}

TEST_F(Envelope, SealsFromNothingToItsBoundAndNotBeyond) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16},
                                 std::size_t{65537}, kMaxMessage}) {
    const Buffer plain(size, std::byte{0x5a});
    Buffer sealed(sealed_size(size)), out(size);
    ASSERT_EQ(must(session_.seal(bytes_of(kContext), plain, sealed)), sealed.size());
    ASSERT_EQ(must(session_.open(bytes_of(kContext), sealed, out)), size);
    EXPECT_TRUE(out == plain) << size;
  }
  const Buffer plain(kMaxMessage + 1);
  Buffer sealed(sealed_size(plain.size()));
  EXPECT_EQ(code_of(session_.seal({}, plain, sealed)), Errc::kInvalidArgument);
}

TEST_F(Envelope, ContextsAreBoundToTheirLastByteUpToTheirBound) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{199}, std::size_t{200},
                                 std::size_t{201}, std::size_t{4096}, kMaxContext}) {
    std::string context(size, 'c');
    const Buffer sealed = testing::seal(session_, context, kPlain);
    EXPECT_EQ(must(testing::open(session_, context, sealed)), kPlain) << size;
    if (size == 0) continue;
    context.back() = 'd';
    EXPECT_EQ(code_of(testing::open(session_, context, sealed)), Errc::kCorrupt) << size;
  }
  Buffer out(sealed_size(0));
  const std::string context(kMaxContext + 1, 'c');
  EXPECT_EQ(code_of(session_.seal(bytes_of(context), {}, out)), Errc::kInvalidArgument);
}

TEST_F(Envelope, TooSmallABufferIsTheCallersMistakeAndIsNotWritten) {
  const Buffer sealed = testing::seal(session_, kContext, kPlain);
  Buffer small(sealed.size() - 1, std::byte{0xaa});
  EXPECT_EQ(code_of(session_.seal(bytes_of(kContext), bytes_of(kPlain), small)),
            Errc::kInvalidArgument);
  Buffer plain(kPlain.size() - 1, std::byte{0xaa});
  EXPECT_EQ(code_of(session_.open(bytes_of(kContext), sealed, plain)), Errc::kInvalidArgument);
  EXPECT_THAT(small, ::testing::Each(std::byte{0xaa}));
  EXPECT_THAT(plain, ::testing::Each(std::byte{0xaa}));
}

TEST_F(Envelope, AHostileLengthFieldIsRefused) {
  Buffer sealed = testing::seal(session_, kContext, kPlain);
  store_u32(MutableBytes(sealed).subspan(envelope::kDataLengthAt), 0xffffffff);
  EXPECT_EQ(code_of(testing::open(session_, kContext, sealed)), Errc::kCorrupt);
}

}  // namespace
}  // namespace plimsoll::vault
