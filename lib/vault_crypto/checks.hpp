#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/vault_crypto/bytes.hpp"

/// What the invariants of this group are counted with. Nothing here uses the library's own code:
/// the offsets are written down a second time, from the documentation.
namespace plimsoll::vault::checks {

/// A plaintext of which every 16 bytes say whose it is and which version, so that a reader can tell
/// a torn one (parts disagree) and a wrong one (another secret's).
/// REQUIRES: size is a multiple of 16 and not 0.
[[nodiscard]] std::vector<std::byte> telling_plaintext(std::string_view name, std::uint64_t version,
                                                       std::size_t size);

struct Reading {
  enum class Kind { kRight, kTorn, kWrong } kind;
  std::uint64_t version;  ///< Where it is kRight.
};
/// What a reader got when it asked for `name`.
[[nodiscard]] Reading inspect(std::string_view name, Bytes plaintext);

/// Collects the nonces of envelopes and counts those that occur twice under one key.
///
/// Thread safety: none; `merge` joins the logs of several threads.
class NonceLog {
 public:
  /// `envelope` is the outcome of one seal that no other log sees.
  void add_seal(Bytes envelope);
  /// `envelope` may be one that was added before, or the same data under another wrap: what is
  /// equal in nonce, key and tag is one seal.
  void add_stored(Bytes envelope);
  void merge(const NonceLog& other);

  /// Seals and wraps whose nonce another one had used under the same key.
  [[nodiscard]] std::int64_t repeats() const;
  [[nodiscard]] std::size_t size() const noexcept { return uses_.size(); }

 private:
  struct Use {
    std::array<std::byte, 44> key_and_nonce;
    std::array<std::byte, 16> tag;
    std::uint64_t serial;  // 0: equal uses are one.
    auto operator<=>(const Use&) const = default;
  };
  void add(Bytes key, Bytes nonce, Bytes tag, std::uint64_t serial);

  std::vector<Use> uses_;
};

}  // namespace plimsoll::vault::checks
