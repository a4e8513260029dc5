#include "lib/vault_crypto/named_blobs.hpp"

#include <fmt/format.h>

#include <bit>
#include <new>

#include "lib/vault_crypto/random.hpp"

namespace plimsoll::vault {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 31;

}  // namespace

std::size_t NamedBlobs::slots_for(std::size_t items) noexcept {
  return std::bit_ceil(2 * items + 1);
}

std::size_t NamedBlobs::bytes_needed(std::span<const Item> items) noexcept {
  std::size_t bytes = slots_for(items.size()) * sizeof(Slot);
  for (const Item& item : items) bytes += item.name.size() + item.value.size();
  return bytes;
}

Result<NamedBlobs> NamedBlobs::build(std::span<const Item> items, MutableBytes storage) {
  if (storage.size() > kMaxBytes) {
    return fail(Errc::kInvalidArgument, fmt::format("{} bytes of names and values; at most {} fit",
                                                    storage.size(), kMaxBytes));
  }
  const std::size_t count = slots_for(items.size());
  auto* const slots = new (storage.data()) Slot[count]{};
  NamedBlobs made;
  made.slots_ = slots;
  made.mask_ = static_cast<std::uint32_t>(count - 1);
  Nonce random;
  auto drawn = draw_nonce(random);
  if (!drawn) return fail(std::move(drawn.error()));
  made.seed_ = word(random.data());
  made.base_ = storage.data();
  made.size_ = items.size();
  std::size_t offset = count * sizeof(Slot);
  for (const Item& item : items) {
    if (made.find(item.name)) {
      return fail(Errc::kInvalidArgument, fmt::format("'{}' is named twice", item.name));
    }
    const std::uint32_t hash = hash_of(item.name, made.seed_);
    std::uint32_t at = hash & made.mask_;
    while (slots[at].hash != 0) at = (at + 1) & made.mask_;
    slots[at] = {hash, static_cast<std::uint32_t>(offset),
                 static_cast<std::uint32_t>(item.name.size()),
                 static_cast<std::uint32_t>(item.value.size())};
    const auto put = [&](const void* from, std::size_t bytes) {
      if (bytes != 0) std::memcpy(storage.data() + offset, from, bytes);
      offset += bytes;
    };
    put(item.name.data(), item.name.size());
    put(item.value.data(), item.value.size());
  }
  return made;
}

}  // namespace plimsoll::vault
