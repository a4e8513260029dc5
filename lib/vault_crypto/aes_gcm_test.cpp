#include "lib/vault_crypto/aes_gcm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/vault_crypto/test_support.hpp"

namespace plimsoll::vault {
namespace {

using testing::Buffer;
using testing::from_hex;
using testing::must;

// Facts: test cases 13 to 16 of McGrew and Viega, "The Galois/Counter Mode of Operation" (2005),
// and the first of NIST's CAVP gcmEncryptExtIV256 with a 96-bit IV.
struct Vector {
  const char* name;
  std::string_view key, nonce, aad, plaintext, ciphertext, tag;
};
constexpr std::string_view kZeroKey =
    "0000000000000000000000000000000000000000000000000000000000000000";
constexpr std::string_view kKey =
    "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
const Vector kVectors[] = {
    {"case13", kZeroKey, "000000000000000000000000", "", "", "",
     "530f8afbc74536b9a963b4f1c4cb738b"},
    {"case14", kZeroKey, "000000000000000000000000", "", "00000000000000000000000000000000",
     "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"},
    {"case15", kKey, "cafebabefacedbaddecaf888", "",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
     "b094dac5d93471bdec1a502270e3cc6c"},
    {"case16", kKey, "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
     "76fc6ece0f4e1768cddf8853bb2d551b"},
    {"cavp", "b52c505a37d78eda5dd34f20c22540ea1b58963cf8e5bf8ffa85f9f2492505b4",
     "516c33929df5a3284ff463d7", "", "", "", "bdc1ac884d332457a1d2664f168c76f0"},
};

AesGcm keyed(AesGcm::Direction direction, const Buffer& key) {
  return must(AesGcm::create(direction, SecretKey::View(key)));
}

class AesGcmVector : public ::testing::TestWithParam<Vector> {};

TEST_P(AesGcmVector, SealsToThePublishedCiphertextAndTag) {
  const Vector& v = GetParam();
  auto gcm = keyed(AesGcm::Direction::kSeal, from_hex(v.key));
  const Buffer nonce = from_hex(v.nonce), aad = from_hex(v.aad), plain = from_hex(v.plaintext);
  Buffer sealed(plain.size()), tag(kTagBytes);
  must(gcm.seal(Bytes(nonce).first<kNonceBytes>(), {.first = aad}, plain, sealed,
                MutableBytes(tag).first<kTagBytes>()));
  EXPECT_EQ(sealed, from_hex(v.ciphertext));
  EXPECT_EQ(tag, from_hex(v.tag));
}

TEST_P(AesGcmVector, OpensThePublishedCiphertextAlsoWithItsAadInTwoParts) {
  const Vector& v = GetParam();
  auto gcm = keyed(AesGcm::Direction::kOpen, from_hex(v.key));
  const Buffer nonce = from_hex(v.nonce), aad = from_hex(v.aad), sealed = from_hex(v.ciphertext),
               tag = from_hex(v.tag);
  for (std::size_t cut = 0; cut <= aad.size(); ++cut) {
    Buffer plain(sealed.size());
    must(gcm.open(Bytes(nonce).first<kNonceBytes>(),
                  {.first = Bytes(aad).first(cut), .second = Bytes(aad).subspan(cut)}, sealed,
                  Bytes(tag).first<kTagBytes>(), plain));
    EXPECT_EQ(plain, from_hex(v.plaintext));
  }
}

INSTANTIATE_TEST_SUITE_P(Published, AesGcmVector, ::testing::ValuesIn(kVectors),
                         [](const auto& vector) { return std::string(vector.param.name); });

TEST(AesGcm, ZeroesThePlaintextWhenTheTagDoesNotFit) {
  const Vector& v = kVectors[3];
  auto gcm = keyed(AesGcm::Direction::kOpen, from_hex(v.key));
  const Buffer nonce = from_hex(v.nonce), aad = from_hex(v.aad), sealed = from_hex(v.ciphertext);
  for (std::size_t bit = 0; bit < 8 * kTagBytes; ++bit) {
    Buffer tag = from_hex(v.tag), plain(sealed.size(), std::byte{0xaa});
    tag[bit / 8] ^= std::byte{1} << bit % 8;
    const auto opened = gcm.open(Bytes(nonce).first<kNonceBytes>(), {.first = aad}, sealed,
                                 Bytes(tag).first<kTagBytes>(), plain);
    ASSERT_EQ(testing::code_of(opened), Errc::kCorrupt) << "bit " << bit;
    ASSERT_THAT(plain, ::testing::Each(std::byte{0})) << "bit " << bit;
  }
}

TEST(AesGcm, WorksUnderItsNewKeyAfterARekeyAndAfterAFailure) {
  const Vector& v = kVectors[3];
  auto gcm = keyed(AesGcm::Direction::kOpen, from_hex(kZeroKey));
  const Buffer nonce = from_hex(v.nonce), aad = from_hex(v.aad), sealed = from_hex(v.ciphertext),
               tag = from_hex(v.tag), key = from_hex(v.key);
  Buffer plain(sealed.size());
  const auto open = [&] {
    return gcm.open(Bytes(nonce).first<kNonceBytes>(), {.first = aad}, sealed,
                    Bytes(tag).first<kTagBytes>(), plain);
  };
  EXPECT_EQ(testing::code_of(open()), Errc::kCorrupt);
  must(gcm.rekey(SecretKey::View(key)));
  must(open());
  EXPECT_EQ(plain, from_hex(v.plaintext));
}

TEST(AesGcm, SealsInPlace) {
  const Vector& v = kVectors[2];
  auto gcm = keyed(AesGcm::Direction::kSeal, from_hex(v.key));
  const Buffer nonce = from_hex(v.nonce);
  Buffer bytes = from_hex(v.plaintext), tag(kTagBytes);
  must(gcm.seal(Bytes(nonce).first<kNonceBytes>(), {}, bytes, bytes,
                MutableBytes(tag).first<kTagBytes>()));
  EXPECT_EQ(bytes, from_hex(v.ciphertext));
}

}  // namespace
}  // namespace plimsoll::vault
