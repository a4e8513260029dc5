#include "lib/vault_crypto/key_ring.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll::vault {
namespace {

auto position(const std::vector<std::shared_ptr<const MasterKey>>& keys, std::uint32_t version) {
  return std::ranges::lower_bound(keys, version, {},
                                  [](const auto& key) { return key->version(); });
}

Error no_such_version(std::uint32_t version) {
  return {Errc::kNotFound, fmt::format("this ring holds no master key version {}", version), {}};
}

}  // namespace

Result<std::shared_ptr<const MasterKey>> MasterKey::create(std::uint32_t version,
                                                           SecretKey::View material,
                                                           std::uint64_t wrap_limit,
                                                           LockPolicy policy) {
  if (version == 0) return fail(Errc::kInvalidArgument, "master key versions start at 1");
  const auto digest = key_digest(material, "plimsoll vault master key id");
  if (!digest) return fail(digest.error());
  auto key = SecretKey::copy_of(material, policy);
  if (!key) return fail(key.error());
  MasterId id;
  std::copy_n(digest->begin(), id.size(), id.begin());
  return std::make_shared<const MasterKey>(version, id, std::move(*key), wrap_limit);
}

std::shared_ptr<const MasterKey> RingSnapshot::find(std::uint32_t version) const noexcept {
  const auto at = position(keys, version);
  return at != keys.end() && (*at)->version() == version ? *at : nullptr;
}

Result<void> KeyRing::add(std::shared_ptr<const MasterKey> key) {
  const std::scoped_lock lock(writers_);
  auto next = std::make_shared<RingSnapshot>(*snapshot_.hold());
  if (const auto known = next->find(key->version())) {
    if (equal_in_constant_time(known->id(), key->id())) return {};
    return fail(Errc::kInvalidArgument,
                fmt::format("version {} is another master key in this ring", key->version()));
  }
  next->keys.insert(position(next->keys, key->version()), std::move(key));
  snapshot_.publish(std::move(next));
  return {};
}

Result<void> KeyRing::make_current(std::uint32_t version) {
  const std::scoped_lock lock(writers_);
  auto next = std::make_shared<RingSnapshot>(*snapshot_.hold());
  if (next->find(version) == nullptr) return fail(no_such_version(version));
  if (version < next->current) {
    return fail(Errc::kInvalidArgument, fmt::format("master key version {} is older than the "
                                                    "current one, {}",
                                                    version, next->current));
  }
  next->current = version;
  snapshot_.publish(std::move(next));
  return {};
}

Result<std::weak_ptr<const MasterKey>> KeyRing::retire(std::uint32_t version) {
  const std::scoped_lock lock(writers_);
  auto next = std::make_shared<RingSnapshot>(*snapshot_.hold());
  std::weak_ptr<const MasterKey> retired = next->find(version);
  if (retired.expired()) return fail(no_such_version(version));
  if (version == next->current) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("master key version {} is the current one: it cannot be retired", version));
  }
  next->keys.erase(position(next->keys, version));
  snapshot_.publish(std::move(next));
  return retired;
}

}  // namespace plimsoll::vault
