#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/named_blobs.hpp"
#include "lib/vault_crypto/published.hpp"
#include "lib/vault_crypto/secret_memory.hpp"
#include "lib/vault_crypto/session.hpp"

namespace plimsoll::vault {

/// One stored secret: its name, the context that it was sealed under, and its envelope.
struct SealedSecret {
  std::string name;
  std::string context;
  std::vector<std::byte> envelope;
};

/// All secrets of a process in plaintext, decrypted once at boot: one read-only block of pinned
/// memory, zeroed at its end. Publish it through Published<BootBag>, read it through a Reader each
/// thread; a new bag replaces the whole.
///
/// Cost: a read is a hash, a probe and a comparison of the name; no lock, no allocation.
/// Thread safety: immutable.
class BootBag {
 public:
  /// Opens every secret. One that cannot be opened fails the whole bag, with its name: a process
  /// must not boot on half of its secrets.
  /// Errors: those of VaultSession::open; kInvalidArgument (a name twice); kRefused (not pinned).
  [[nodiscard]] static Result<std::shared_ptr<const BootBag>> open(
      VaultSession& session, std::span<const SealedSecret> secrets,
      LockPolicy policy = LockPolicy::kRequired);

  /// From plaintexts at hand. Errors: as `open`, without those of the session.
  [[nodiscard]] static Result<std::shared_ptr<const BootBag>> of(
      std::span<const NamedBlobs::Item> items, LockPolicy policy = LockPolicy::kRequired);

  /// The plaintext, or nullopt; valid for as long as the bag.
  [[nodiscard]] std::optional<Bytes> find(std::string_view name) const noexcept {
    return blobs_.find(name);
  }
  [[nodiscard]] std::size_t size() const noexcept { return blobs_.size(); }

  BootBag(SecretRegion region, NamedBlobs blobs) noexcept
      : region_(std::move(region)), blobs_(blobs) {}

 private:
  SecretRegion region_;  // Moving it does not move the memory that blobs_ points into.
  NamedBlobs blobs_;
};

/// All secrets of a process as they are stored, to be opened one by one when asked for.
///
/// Thread safety: immutable.
class SealedBag {
 public:
  /// Errors: kInvalidArgument (a name twice, a context over kMaxContext, or no envelope, by its
  /// shape), kRejected, kCorrupt as check_shape.
  [[nodiscard]] static Result<std::shared_ptr<const SealedBag>> of(
      std::span<const SealedSecret> secrets);

  struct Entry {
    Bytes context;
    Bytes envelope;
  };
  [[nodiscard]] std::optional<Entry> find(std::string_view name) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return blobs_.size(); }

  SealedBag(std::vector<std::byte> storage, NamedBlobs blobs) noexcept
      : storage_(std::move(storage)), blobs_(blobs) {}

 private:
  std::vector<std::byte> storage_;
  NamedBlobs blobs_;
};

/// Reads secrets at request time: the plaintext exists for the length of one request only. Keyed
/// contexts of the data keys used last are kept.
///
/// The cache goes by the whole key block (data key, master version, wrap), so what it holds is
/// never stale: a secret that was updated or rewrapped has another block. When the ring changes,
/// keys whose master key it no longer holds are dropped.
///
/// Cost: a hit opens the envelope, about 0.3 µs and no allocation; a miss unwraps its data key too.
/// Thread safety: none; one per thread. Bag and ring must outlive it.
class RequestReader {
 public:
  /// `cached_keys` is rounded up to a power of two of at least 4.
  /// Errors: as VaultSession::create.
  [[nodiscard]] static Result<RequestReader> create(const Published<SealedBag>& bag,
                                                    const KeyRing& ring, std::size_t cached_keys,
                                                    LockPolicy policy = LockPolicy::kRequired);

  /// Writes the plaintext to the front of `out` and returns its length. The caller zeroes `out`
  /// when done (`cleanse`). Errors: kNotFound (no such name, or the ring does not hold its master
  /// key), and those of VaultSession::open.
  [[nodiscard]] Result<std::size_t> read(std::string_view name, MutableBytes out);

  /// Lets go of both snapshots and of every key, until the next read. For threads that go idle.
  void release() noexcept;

  /// Misses so far.
  [[nodiscard]] std::uint64_t unwraps() const noexcept { return unwraps_; }

 private:
  // A key may lie in any of four neighbouring places; the one unused for longest makes room.
  static constexpr std::size_t kWays = 4;
  struct Place {
    std::optional<Opener> opener;
    std::uint64_t used = 0;
  };

  RequestReader(const Published<SealedBag>& bag, const KeyRing& ring, VaultSession session,
                std::size_t places)
      : bag_(bag), ring_(ring.published()), session_(std::move(session)), places_(places) {}

  void drop_retired();
  [[nodiscard]] Result<Opener*> opener_for(Bytes envelope);

  Published<SealedBag>::Reader bag_;
  Published<RingSnapshot>::Reader ring_;
  std::uint64_t ring_seen_ = 0;
  VaultSession session_;
  std::vector<Place> places_;
  std::uint64_t clock_ = 0;
  std::uint64_t unwraps_ = 0;
};

}  // namespace plimsoll::vault
