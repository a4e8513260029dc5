#include "lib/vault_crypto/bags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace plimsoll::vault {
namespace {

tl::unexpected<Error> about(std::string_view name, Error error) {
  error.message = fmt::format("secret '{}': {}", name, error.message);
  return fail(std::move(error));
}

}  // namespace

Result<std::shared_ptr<const BootBag>> BootBag::of(std::span<const NamedBlobs::Item> items,
                                                   LockPolicy policy) {
  auto region = SecretRegion::create(NamedBlobs::bytes_needed(items), policy);
  if (!region) return fail(std::move(region.error()));
  const auto blobs = NamedBlobs::build(items, region->bytes());
  if (!blobs) return fail(blobs.error());
  auto sealed = region->make_read_only();
  if (!sealed) return fail(std::move(sealed.error()));
  return std::make_shared<const BootBag>(std::move(*region), *blobs);
}

Result<std::shared_ptr<const BootBag>> BootBag::open(VaultSession& session,
                                                     std::span<const SealedSecret> secrets,
                                                     LockPolicy policy) {
  std::size_t total = 0;
  for (const SealedSecret& secret : secrets) {
    auto shape = check_shape(secret.envelope);
    if (!shape) return about(secret.name, std::move(shape.error()));
    total += plaintext_size_of(secret.envelope);
  }
  auto plain = SecretRegion::create(total, policy);
  if (!plain) return fail(std::move(plain.error()));
  std::vector<NamedBlobs::Item> items;
  items.reserve(secrets.size());
  MutableBytes rest = plain->bytes();
  for (const SealedSecret& secret : secrets) {
    auto size = session.open(bytes_of(secret.context), secret.envelope, rest);
    if (!size) return about(secret.name, std::move(size.error()));
    items.push_back({secret.name, rest.first(*size)});
    rest = rest.subspan(*size);
  }
  return of(items, policy);
}

Result<std::shared_ptr<const SealedBag>> SealedBag::of(std::span<const SealedSecret> secrets) {
  std::vector<std::vector<std::byte>> values;  // Length of the context, context, envelope.
  std::vector<NamedBlobs::Item> items;
  values.reserve(secrets.size());
  items.reserve(secrets.size());
  for (const SealedSecret& secret : secrets) {
    auto shape = check_shape(secret.envelope);
    if (!shape) return about(secret.name, std::move(shape.error()));
    if (secret.context.size() > kMaxContext) {
      return about(secret.name, {Errc::kInvalidArgument, "its context is over 64 KiB", {}});
    }
    std::vector<std::byte> value(4);
    store_u32(value, static_cast<std::uint32_t>(secret.context.size()));
    const Bytes context = bytes_of(secret.context);
    value.insert(value.end(), context.begin(), context.end());
    value.insert(value.end(), secret.envelope.begin(), secret.envelope.end());
    values.push_back(std::move(value));
    items.push_back({secret.name, values.back()});
  }
  std::vector<std::byte> storage(NamedBlobs::bytes_needed(items));
  const auto blobs = NamedBlobs::build(items, storage);
  if (!blobs) return fail(blobs.error());
  return std::make_shared<const SealedBag>(std::move(storage), *blobs);
}

std::optional<SealedBag::Entry> SealedBag::find(std::string_view name) const noexcept {
  const auto value = blobs_.find(name);
  if (!value) return std::nullopt;
  const std::size_t context = load_u32(*value);
  return Entry{value->subspan(4, context), value->subspan(4 + context)};
}

Result<RequestReader> RequestReader::create(const Published<SealedBag>& bag, const KeyRing& ring,
                                            std::size_t cached_keys, LockPolicy policy) {
  auto session = VaultSession::create(ring, policy);
  if (!session) return fail(std::move(session.error()));
  return RequestReader(bag, ring, std::move(*session), std::bit_ceil(std::max(cached_keys, kWays)));
}

void RequestReader::drop_retired() {
  const RingSnapshot& ring = ring_.get();
  if (ring_.generation() == ring_seen_) return;
  ring_seen_ = ring_.generation();
  for (Place& place : places_) {
    if (!place.opener) continue;
    const Bytes block(place.opener->key().block());
    const auto master = ring.find(master_version_of(block));
    if (!master || !std::ranges::equal(master->id(), master_id_of(block))) place.opener.reset();
  }
}

void RequestReader::release() noexcept {
  for (Place& place : places_) place.opener.reset();
  bag_.release();
  ring_.release();
  ring_seen_ = 0;
  session_.release();
}

Result<Opener*> RequestReader::opener_for(Bytes envelope) {
  const KeyBlockView block = key_block_of(envelope);
  // The commitment is the output of a hash: its first bytes choose the place as they are.
  const std::size_t set = load_u32(commitment_of(block)) & (places_.size() / kWays - 1);
  const std::span<Place> ways = std::span(places_).subspan(set * kWays, kWays);
  Place* oldest = &ways.front();
  for (Place& place : ways) {
    if (place.opener &&
        std::memcmp(place.opener->key().block().data(), block.data(), kKeyBlockBytes) == 0) {
      place.used = ++clock_;
      return &*place.opener;
    }
    if (!place.opener || (oldest->opener && place.used < oldest->used)) oldest = &place;
  }
  ++unwraps_;
  auto key = session_.unwrap(envelope);
  if (!key) return fail(std::move(key.error()));
  auto opener = Opener::create(std::move(*key));
  if (!opener) return fail(std::move(opener.error()));
  oldest->opener = std::move(*opener);
  oldest->used = ++clock_;
  return &*oldest->opener;
}

Result<std::size_t> RequestReader::read(std::string_view name, MutableBytes out) {
  drop_retired();
  const auto entry = bag_.get().find(name);
  if (!entry) return fail(Errc::kNotFound, fmt::format("no secret '{}'", name));
  auto opener = opener_for(entry->envelope);
  if (!opener) return about(name, std::move(opener.error()));
  auto size = (*opener)->open(entry->context, entry->envelope, out);
  if (!size) return about(name, std::move(size.error()));
  return size;
}

}  // namespace plimsoll::vault
