#pragma once

#include <memory>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/aes_gcm.hpp"
#include "lib/vault_crypto/envelope.hpp"
#include "lib/vault_crypto/seal_budget.hpp"
#include "lib/vault_crypto/secret_memory.hpp"

namespace plimsoll::vault {

/// An unwrapped data key and the block that names it in every envelope sealed under it. Made by
/// VaultSession.
///
/// Thread safety: immutable but for the budget; share it freely.
class DataKey {
 public:
  DataKey(SecretKey key, const KeyBlock& block, std::uint64_t seal_limit) noexcept
      : key_(std::move(key)), block_(block), budget_(seal_limit) {}

  [[nodiscard]] SecretKey::View key() const noexcept { return key_.view(); }
  [[nodiscard]] KeyBlockView block() const noexcept { return block_; }
  [[nodiscard]] SealBudget& budget() const noexcept { return budget_; }

 private:
  SecretKey key_;
  KeyBlock block_;
  mutable SealBudget budget_;
};

/// Seals messages under one data key: one expanded key, one nonce of 96 random bits a message, each
/// message counted against the key's budget.
///
/// Cost: no allocation; about 60 ns beside AES-GCM itself.
/// Thread safety: none; one per thread, over one shared DataKey.
/// Errors: kInvalidArgument (plaintext or context too long, `out` too small), kRefused (the key has
/// made all the seals it may: take a new data key), kInternal (OpenSSL).
class Sealer {
 public:
  [[nodiscard]] static Result<Sealer> create(std::shared_ptr<const DataKey> key);

  /// Writes the envelope to the front of `out` and returns its length, sealed_size(plaintext).
  /// `out` must not overlap `plaintext`. `context` is authenticated, not stored: opening needs the
  /// same.
  [[nodiscard]] Result<std::size_t> seal(Bytes context, Bytes plaintext, MutableBytes out);

 private:
  Sealer(std::shared_ptr<const DataKey> key, AesGcm gcm) noexcept
      : key_(std::move(key)), gcm_(std::move(gcm)), allowance_({key_, &key_->budget()}) {}

  std::shared_ptr<const DataKey> key_;
  AesGcm gcm_;
  SealAllowance allowance_;
};

/// Opens envelopes under one data key. An envelope whose key block is not, byte for byte, the one
/// that the key was unwrapped from is refused before anything is decrypted: so also bytes that only
/// the wrap's tag covers cannot be changed unseen.
///
/// Cost, thread safety: as Sealer.
/// Errors: kNotFound (the envelope is under another data key or another wrap of this one: unwrap
/// it), kCorrupt (altered bytes or another context; `out` is zeroed where it was written),
/// kInvalidArgument and kRejected as check_shape, kInternal.
class Opener {
 public:
  [[nodiscard]] static Result<Opener> create(std::shared_ptr<const DataKey> key);

  /// Writes the plaintext to the front of `out` and returns its length. `out` must not overlap
  /// `envelope`, and holds no byte of an unchecked plaintext when the call has failed.
  [[nodiscard]] Result<std::size_t> open(Bytes context, Bytes envelope, MutableBytes out);

  [[nodiscard]] const DataKey& key() const noexcept { return *key_; }

 private:
  Opener(std::shared_ptr<const DataKey> key, AesGcm gcm) noexcept
      : key_(std::move(key)), gcm_(std::move(gcm)) {}

  std::shared_ptr<const DataKey> key_;
  AesGcm gcm_;
};

}  // namespace plimsoll::vault
