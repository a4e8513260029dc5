#include "lib/vault_crypto/aes_gcm.hpp"

#include <openssl/err.h>

#include <array>
#include <cassert>

#include "lib/vault_crypto/openssl_error.hpp"

namespace plimsoll::vault {
namespace {

struct FreeCipher {
  void operator()(EVP_CIPHER* cipher) const noexcept { EVP_CIPHER_free(cipher); }
};

// An implicit fetch by EVP_aes_256_gcm() would look the cipher up again for every context.
const EVP_CIPHER* cipher() {
  static const std::unique_ptr<EVP_CIPHER, FreeCipher> fetched(
      EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr));
  return fetched.get();
}

// EVP_*Update with an empty input would be fine for GCM; skipping it spares the call.
bool update(EVP_CIPHER_CTX* context, unsigned char* out, Bytes in) noexcept {
  int written = 0;
  return in.empty() ||
         EVP_CipherUpdate(context, out, &written, octets(in), static_cast<int>(in.size())) == 1;
}

}  // namespace

Result<AesGcm> AesGcm::create(Direction direction, SecretKey::View key) {
  if (cipher() == nullptr) return openssl_failure("OpenSSL has no AES-256-GCM");
  AesGcm made(direction);
  made.context_.reset(EVP_CIPHER_CTX_new());
  const int sealing = direction == Direction::kSeal ? 1 : 0;
  if (!made.context_ || EVP_CipherInit_ex2(made.context_.get(), cipher(), octets(Bytes(key)),
                                           nullptr, sealing, nullptr) != 1) {
    return openssl_failure("cannot set up AES-256-GCM");
  }
  return made;
}

Result<void> AesGcm::rekey(SecretKey::View key) {
  if (EVP_CipherInit_ex2(context_.get(), nullptr, octets(Bytes(key)), nullptr, -1, nullptr) != 1) {
    return openssl_failure("cannot key AES-256-GCM");
  }
  return {};
}

void AesGcm::forget_key() noexcept {
  static constexpr std::array<unsigned char, kKeyBytes> kNoKey{};
  if (EVP_CipherInit_ex2(context_.get(), nullptr, kNoKey.data(), nullptr, -1, nullptr) == 1) return;
  EVP_CIPHER_CTX_reset(context_.get());  // Zeroed as well; what uses it then fails.
  ERR_clear_error();
}

bool AesGcm::begin(std::span<const std::byte, kNonceBytes> nonce, Aad aad) noexcept {
  EVP_CIPHER_CTX* const context = context_.get();
  return EVP_CipherInit_ex2(context, nullptr, nullptr, octets(Bytes(nonce)), -1, nullptr) == 1 &&
         update(context, nullptr, aad.first) && update(context, nullptr, aad.second);
}

Result<void> AesGcm::seal(std::span<const std::byte, kNonceBytes> nonce, Aad aad, Bytes plaintext,
                          MutableBytes ciphertext, std::span<std::byte, kTagBytes> tag) {
  assert(direction_ == Direction::kSeal);
  assert(ciphertext.size() == plaintext.size() && plaintext.size() <= kMaxMessage);
  EVP_CIPHER_CTX* const context = context_.get();
  int written = 0;
  std::byte nothing[kTagBytes];  // Final writes no bytes for GCM, but wants somewhere to do so.
  if (begin(nonce, aad) && update(context, octets(ciphertext), plaintext) &&
      EVP_CipherFinal_ex(context, octets(MutableBytes(nothing)), &written) == 1 &&
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag.data()) == 1) {
    return {};
  }
  cleanse(ciphertext);
  return openssl_failure("AES-256-GCM could not seal");
}

Result<void> AesGcm::open(std::span<const std::byte, kNonceBytes> nonce, Aad aad, Bytes ciphertext,
                          std::span<const std::byte, kTagBytes> tag, MutableBytes plaintext) {
  assert(direction_ == Direction::kOpen);
  assert(ciphertext.size() == plaintext.size() && plaintext.size() <= kMaxMessage);
  EVP_CIPHER_CTX* const context = context_.get();
  // OpenSSL takes the tag as a pointer to mutable memory, and only reads it.
  auto* const expected = const_cast<std::byte*>(tag.data());
  if (!begin(nonce, aad) ||
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kTagBytes, expected) != 1 ||
      !update(context, octets(plaintext), ciphertext)) {
    cleanse(plaintext);
    return openssl_failure("AES-256-GCM could not open");
  }
  int written = 0;
  std::byte nothing[kTagBytes];
  if (EVP_CipherFinal_ex(context, octets(MutableBytes(nothing)), &written) == 1) return {};
  cleanse(plaintext);
  ERR_clear_error();
  return fail(Errc::kCorrupt, "the tag does not fit");
}

}  // namespace plimsoll::vault
