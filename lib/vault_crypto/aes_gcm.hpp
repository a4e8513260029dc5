#pragma once

#include <openssl/evp.h>

#include <memory>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/bytes.hpp"
#include "lib/vault_crypto/secret_memory.hpp"

namespace plimsoll::vault {

/// The longest message: 64 MiB. GCM allows 64 GiB; the bound keeps lengths inside an int and a
/// hostile length field from reserving memory.
inline constexpr std::size_t kMaxMessage = std::size_t{64} << 20;

/// Additional data in two parts, authenticated one after the other as one string.
struct Aad {
  Bytes first;
  Bytes second{};
};

/// AES-256-GCM (NIST SP 800-38D) in one direction under one key: 96-bit nonce, 128-bit tag. A thin
/// layer over OpenSSL's EVP that fetches the cipher once a process and expands the key once, so
/// that a message costs one reset of the nonce.
///
/// It does not choose nonces and does not count messages: use Sealer, Opener and VaultSession.
///
/// The expanded key lies in OpenSSL's heap, which is not pinned. It is zeroed when the context is
/// destroyed or keyed anew.
///
/// Cost: no allocation after creation. Thread safety: none; one per thread.
/// Errors: kInternal (OpenSSL refused), and those named at each function.
class AesGcm {
 public:
  enum class Direction { kSeal, kOpen };

  [[nodiscard]] static Result<AesGcm> create(Direction direction, SecretKey::View key);

  /// Replaces the key. About 0.3 µs.
  [[nodiscard]] Result<void> rekey(SecretKey::View key);

  /// Overwrites the expanded key. `rekey` before the next message.
  void forget_key() noexcept;

  /// Encrypts `plaintext` into `ciphertext` and writes the tag. The two may be the same memory, not
  /// partly overlapping. On failure `ciphertext` is zeroed.
  /// REQUIRES: created for kSeal; ciphertext.size() == plaintext.size() <= kMaxMessage; the nonce
  /// was never used under this key.
  [[nodiscard]] Result<void> seal(std::span<const std::byte, kNonceBytes> nonce, Aad aad,
                                  Bytes plaintext, MutableBytes ciphertext,
                                  std::span<std::byte, kTagBytes> tag);

  /// Decrypts `ciphertext` into `plaintext` and checks the tag. What does not pass is zeroed before
  /// the call returns. Overlap and sizes as for `seal`.
  ///
  /// Errors: kCorrupt (the tag does not fit: another key, nonce, additional data or altered bytes).
  /// REQUIRES: created for kOpen.
  [[nodiscard]] Result<void> open(std::span<const std::byte, kNonceBytes> nonce, Aad aad,
                                  Bytes ciphertext, std::span<const std::byte, kTagBytes> tag,
                                  MutableBytes plaintext);

 private:
  struct FreeContext {
    void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
  };
  explicit AesGcm(Direction direction) : direction_(direction) {}

  [[nodiscard]] bool begin(std::span<const std::byte, kNonceBytes> nonce, Aad aad) noexcept;

  Direction direction_;
  std::unique_ptr<EVP_CIPHER_CTX, FreeContext> context_;
};

}  // namespace plimsoll::vault
