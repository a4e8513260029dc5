#pragma once

#include <memory>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/aes_gcm.hpp"
#include "lib/vault_crypto/data_key.hpp"
#include "lib/vault_crypto/envelope.hpp"
#include "lib/vault_crypto/key_ring.hpp"

namespace plimsoll::vault {

/// One thread's use of a key ring: makes, wraps and unwraps data keys, and seals and opens
/// envelopes with a data key of their own.
///
/// Each call works on the ring as it is at that moment. Contexts keyed with a master key are kept
/// for as long as the ring holds that key, and destroyed at the first call afterwards.
///
/// Cost: `seal` and `open` allocate nothing once the thread and the session are warm.
/// Thread safety: none; one per thread. The ring must outlive it.
/// Errors, one kind for each thing to do about it:
///   kInvalidArgument  shorter than any envelope; plaintext, context or `out` out of bounds
///   kRejected         a format or suite that this program does not know
///   kNotFound         the ring does not hold the master key that the envelope names, by version
///   and
///                     by id: no such version, or another key under it
///   kCorrupt          a tag or the commitment does not fit: altered bytes, or another context. GCM
///                     cannot tell these apart, so neither do we. `out` is zeroed
///   kRefused          the master key has wrapped all the data keys it may: rotate it; or no memory
///                     could be pinned
///   kInternal         OpenSSL failed
class VaultSession {
 public:
  /// `policy` is for the data keys that this session makes or unwraps.
  [[nodiscard]] static Result<VaultSession> create(const KeyRing& ring,
                                                   LockPolicy policy = LockPolicy::kRequired);

  /// A new data key, wrapped by the current master key. It may seal `seal_limit` messages.
  [[nodiscard]] Result<std::shared_ptr<const DataKey>> new_data_key(
      std::uint64_t seal_limit = kMaxSeals);

  /// The data key of an envelope or of its key block, checked against its wrap and its commitment.
  /// It opens; its seals elsewhere cannot be counted, so it has none left to make.
  [[nodiscard]] Result<std::shared_ptr<const DataKey>> unwrap(Bytes envelope);

  /// Seals under a fresh data key. Writes sealed_size(plaintext) bytes to the front of `out` and
  /// returns that length. `out` must not overlap `plaintext`.
  [[nodiscard]] Result<std::size_t> seal(Bytes context, Bytes plaintext, MutableBytes out);

  /// Opens any envelope of this ring: unwraps its data key, then the data.
  [[nodiscard]] Result<std::size_t> open(Bytes context, Bytes envelope, MutableBytes out);

  /// The key block of an envelope, or of a key block by itself, with the same data key under the
  /// current master key: what a rotation puts in place of the first kKeyBlockBytes bytes. The data
  /// is not touched and not read.
  [[nodiscard]] Result<KeyBlock> rewrap(Bytes envelope);

  /// The version that seals now; 0 when there is none.
  [[nodiscard]] std::uint32_t current_version() { return reader_.get().current; }

  /// Lets go of the ring's snapshot and of everything keyed, the last message's data key as well,
  /// until the next call. For threads that go idle.
  void release() noexcept;

 private:
  struct Wrapper {
    std::shared_ptr<const MasterKey> master;
    AesGcm seal;
    AesGcm open;
    SealAllowance allowance;
  };

  VaultSession(const KeyRing& ring, LockPolicy policy, SecretKey scratch, AesGcm sealing,
               AesGcm opening) noexcept
      : reader_(ring.published()),
        policy_(policy),
        scratch_(std::move(scratch)),
        sealing_(std::move(sealing)),
        opening_(std::move(opening)) {}

  /// `ring` is what `reader_` has just returned.
  [[nodiscard]] Result<Wrapper*> wrapper_for(const RingSnapshot& ring, std::uint32_t version);
  [[nodiscard]] Result<KeyBlock> wrap(SecretKey::View key);
  [[nodiscard]] Result<void> wrap_into(SecretKey::View key, KeyBlock& block);
  [[nodiscard]] Result<void> unwrap_into(KeyBlockView block, SecretKey& key);

  Published<RingSnapshot>::Reader reader_;
  std::uint64_t pruned_at_ = 0;
  std::vector<Wrapper> wrappers_;
  LockPolicy policy_;
  SecretKey scratch_;  // The data key of the message at hand; zero between calls.
  AesGcm sealing_;
  AesGcm opening_;
};

}  // namespace plimsoll::vault
