#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/bytes.hpp"

namespace plimsoll::vault {

/// An immutable map from names to bytes, laid out once in memory that the caller owns: a table of
/// open addressing, half empty, and behind it names and values.
///
/// Cost: find is one hash of the name and, mostly, one probe; no allocation, no lock.
/// Thread safety: find from any thread.
class NamedBlobs {
 public:
  struct Item {
    std::string_view name;
    Bytes value;
  };

  NamedBlobs() = default;

  /// Bytes that `build` needs for these items, alignment included.
  [[nodiscard]] static std::size_t bytes_needed(std::span<const Item> items) noexcept;

  /// Errors: kInvalidArgument (a name twice; more than 2 GiB).
  /// REQUIRES: storage of bytes_needed(items), zero, aligned to 8, outliving the map.
  [[nodiscard]] static Result<NamedBlobs> build(std::span<const Item> items, MutableBytes storage);

  /// The value, or nullopt. A value may be empty.
  [[nodiscard]] std::optional<Bytes> find(std::string_view name) const noexcept {
    const std::uint64_t hash = hash_of(name);
    for (std::uint64_t at = hash;; ++at) {
      const Slot& slot = slots_[at & mask_];
      if (slot.hash == 0) return std::nullopt;
      if (slot.hash == hash && slot.name_bytes == name.size() &&
          std::memcmp(base_ + slot.offset, name.data(), name.size()) == 0) {
        return Bytes(base_ + slot.offset + slot.name_bytes, slot.value_bytes);
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Slot {
    std::uint64_t hash;  // Never 0 in a used slot.
    std::uint64_t offset;
    std::uint32_t name_bytes;
    std::uint32_t value_bytes;
  };
  static constexpr Slot kNoSlots[1] = {};

  [[nodiscard]] static std::uint64_t hash_of(std::string_view name) noexcept {
    return std::hash<std::string_view>{}(name) | 1;
  }
  [[nodiscard]] static std::size_t slots_for(std::size_t items) noexcept;

  const Slot* slots_ = kNoSlots;
  std::uint64_t mask_ = 0;
  const std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace plimsoll::vault
