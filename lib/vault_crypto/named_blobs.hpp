#pragma once

#include <cstdint>
#include <cstring>
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

  /// Errors: kInvalidArgument (a name twice; more than 2 GiB), kInternal (no randomness).
  /// REQUIRES: storage of bytes_needed(items), zero, aligned to 8, outliving the map.
  [[nodiscard]] static Result<NamedBlobs> build(std::span<const Item> items, MutableBytes storage);

  /// The value, or nullopt. A value may be empty.
  [[nodiscard]] std::optional<Bytes> find(std::string_view name) const noexcept {
    const std::uint32_t hash = hash_of(name, seed_);
    for (std::uint32_t at = hash;; ++at) {
      const Slot& slot = slots_[at & mask_];
      if (slot.hash == 0) return std::nullopt;
      const std::byte* const entry = base_ + slot.offset;
      if (slot.hash == hash && slot.name_bytes == name.size() &&
          equal(entry, name.data(), name.size())) {
        return Bytes(entry + slot.name_bytes, slot.value_bytes);
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Slot {
    std::uint32_t hash;  // Never 0 in a used slot.
    std::uint32_t offset;
    std::uint32_t name_bytes;
    std::uint32_t value_bytes;
  };
  static constexpr Slot kNoSlots[1] = {};

  [[nodiscard]] static std::uint64_t word(const void* at) noexcept {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  /// Both halves of the product: each bit of the factors reaches many of the result.
  [[nodiscard]] static std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  /// Sixteen bytes a multiplication; the last ones overlap those before them, so that no length
  /// needs a loop over single bytes. std::hash would be half of a read's time. The seed is random:
  /// who chooses names cannot choose collisions.
  [[nodiscard]] static std::uint32_t hash_of(std::string_view name, std::uint64_t seed) noexcept {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    const char* at = name.data();
    const std::size_t size = name.size();
    std::uint64_t hash = seed ^ size;
    if (size >= 16) [[likely]] {
      const char* const last = at + size - 16;
      for (; at < last; at += 16) hash = mix(word(at) ^ kOdd, word(at + 8) ^ hash);
      hash = mix(word(last) ^ kOdd, word(last + 8) ^ hash);
    } else if (size >= 8) {
      hash = mix(word(at) ^ kOdd, word(at + size - 8) ^ hash);
    } else {
      std::uint64_t few = 0;
      if (size != 0) std::memcpy(&few, at, size);
      hash = mix(few ^ kOdd, hash);
    }
    return static_cast<std::uint32_t>(hash ^ hash >> 32) | 1;
  }

  /// As memcmp, without a call where it is not worth one.
  [[nodiscard]] static bool equal(const std::byte* a, const char* b, std::size_t size) noexcept {
    if (size < 8 || size > 64) return size == 0 || std::memcmp(a, b, size) == 0;
    std::uint64_t differs = word(a + size - 8) ^ word(b + size - 8);
    for (std::size_t at = 0; at + 8 < size; at += 8) differs |= word(a + at) ^ word(b + at);
    return differs == 0;
  }
  [[nodiscard]] static std::size_t slots_for(std::size_t items) noexcept;

  const Slot* slots_ = kNoSlots;
  std::uint32_t mask_ = 0;
  std::uint64_t seed_ = 0;
  const std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace plimsoll::vault
