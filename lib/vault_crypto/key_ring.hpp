#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/envelope.hpp"
#include "lib/vault_crypto/published.hpp"
#include "lib/vault_crypto/seal_budget.hpp"
#include "lib/vault_crypto/secret_memory.hpp"

namespace plimsoll::vault {

/// One version of the master key. It wraps data keys and nothing else.
///
/// Thread safety: immutable but for the budget.
class MasterKey {
 public:
  /// `wrap_limit`: how many data keys it may wrap; 0 where SecretStore grants them.
  /// Errors: kInvalidArgument (version 0), kRefused and kInternal as SecretKey.
  [[nodiscard]] static Result<std::shared_ptr<const MasterKey>> create(
      std::uint32_t version, SecretKey::View material, std::uint64_t wrap_limit = kMaxSeals,
      LockPolicy policy = LockPolicy::kRequired);

  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  [[nodiscard]] const MasterId& id() const noexcept { return id_; }
  [[nodiscard]] SecretKey::View key() const noexcept { return key_.view(); }
  [[nodiscard]] SealBudget& budget() const noexcept { return budget_; }
  /// True where it was made with a limit of 0.
  [[nodiscard]] bool wraps_are_granted() const noexcept { return wraps_are_granted_; }

  MasterKey(std::uint32_t version, const MasterId& id, SecretKey key,
            std::uint64_t wrap_limit) noexcept
      : version_(version),
        id_(id),
        key_(std::move(key)),
        budget_(wrap_limit),
        wraps_are_granted_(wrap_limit == 0) {}

 private:
  std::uint32_t version_;
  MasterId id_;
  SecretKey key_;
  mutable SealBudget budget_;
  bool wraps_are_granted_;
};

/// The master keys of one moment.
struct RingSnapshot {
  std::vector<std::shared_ptr<const MasterKey>> keys;  ///< By version.
  std::uint32_t current = 0;                           ///< Wraps new data keys; 0: none yet.

  /// Null where the ring has no such version. O(log n).
  [[nodiscard]] std::shared_ptr<const MasterKey> find(std::uint32_t version) const noexcept;
};

/// Versioned master keys. A rotation adds the new version to the ring of every process first (it
/// then opens), makes it current next (it then seals), rewraps what is stored, and retires the old
/// version last.
///
/// Thread safety: all members from any thread; reading does not lock (see Published).
class KeyRing {
 public:
  KeyRing() : snapshot_(std::make_shared<RingSnapshot>()) {}

  /// Errors: kInvalidArgument (that version is there already with another key; the same key is no
  /// error).
  [[nodiscard]] Result<void> add(std::shared_ptr<const MasterKey> key);

  /// Errors: kNotFound (no such version here), kInvalidArgument (older than the current one).
  [[nodiscard]] Result<void> make_current(std::uint32_t version);

  /// Takes a version out. Sessions drop their keyed contexts at their next use, and the key is
  /// zeroed when the last of them has: the returned pointer then says `expired()`. Errors:
  /// kNotFound, kInvalidArgument (it is the current one).
  [[nodiscard]] Result<std::weak_ptr<const MasterKey>> retire(std::uint32_t version);

  [[nodiscard]] const Published<RingSnapshot>& published() const noexcept { return snapshot_; }
  [[nodiscard]] std::shared_ptr<const RingSnapshot> hold() const { return snapshot_.hold(); }

 private:
  std::mutex writers_;
  Published<RingSnapshot> snapshot_;
};

}  // namespace plimsoll::vault
