#include "lib/vault_crypto/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/vault_crypto/random.hpp"

namespace plimsoll::vault {
namespace {

constexpr std::string_view kCommitmentLabel = "plimsoll vault data key commitment";

// What the wrap authenticates beside the data key: everything in front of its nonce.
Aad wrap_aad(KeyBlockView block) noexcept {
  return {.first = block.first<envelope::kWrapNonceAt>()};
}

// Zeroes the session's data key when a call ends, however it ends.
class Cleansed {
 public:
  explicit Cleansed(SecretKey& key) noexcept : key_(key) {}
  Cleansed(const Cleansed&) = delete;
  Cleansed& operator=(const Cleansed&) = delete;
  ~Cleansed() { cleanse(key_.mutable_view()); }

 private:
  SecretKey& key_;
};

Result<KeyBlockView> checked_block(Bytes envelope) {
  if (envelope.size() < kKeyBlockBytes) {
    return fail(Errc::kInvalidArgument,
                fmt::format("no key block: {} bytes, one has {}", envelope.size(), kKeyBlockBytes));
  }
  auto checked = check_key_block(key_block_of(envelope));
  if (!checked) return fail(std::move(checked.error()));
  return key_block_of(envelope);
}

std::string versions_of(const RingSnapshot& ring) {
  std::string list;
  for (const auto& key : ring.keys) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", key->version());
  }
  return list.empty() ? "none" : list;
}

}  // namespace

Result<VaultSession> VaultSession::create(const KeyRing& ring, LockPolicy policy) {
  auto scratch = SecretKey::zero(policy);
  if (!scratch) return fail(scratch.error());
  auto sealing = AesGcm::create(AesGcm::Direction::kSeal, scratch->view());
  if (!sealing) return fail(sealing.error());
  auto opening = AesGcm::create(AesGcm::Direction::kOpen, scratch->view());
  if (!opening) return fail(opening.error());
  return VaultSession(ring, policy, std::move(*scratch), std::move(*sealing), std::move(*opening));
}

Result<VaultSession::Wrapper*> VaultSession::wrapper_for(const RingSnapshot& ring,
                                                         std::uint32_t version) {
  if (pruned_at_ != reader_.generation()) {
    std::erase_if(wrappers_, [&ring](const Wrapper& wrapper) {
      return ring.find(wrapper.master->version()) != wrapper.master;
    });
    pruned_at_ = reader_.generation();
  }
  const auto known = std::ranges::find(
      wrappers_, version, [](const Wrapper& wrapper) { return wrapper.master->version(); });
  if (known != wrappers_.end()) return &*known;

  auto master = ring.find(version);
  if (master == nullptr) {
    return fail(Errc::kNotFound,
                fmt::format("no master key version {} here; held: {}", version, versions_of(ring)));
  }
  auto seal = AesGcm::create(AesGcm::Direction::kSeal, master->key());
  if (!seal) return fail(seal.error());
  auto open = AesGcm::create(AesGcm::Direction::kOpen, master->key());
  if (!open) return fail(open.error());
  SealAllowance allowance({master, &master->budget()});
  wrappers_.push_back(
      {std::move(master), std::move(*seal), std::move(*open), std::move(allowance)});
  return &wrappers_.back();
}

Result<void> VaultSession::wrap_into(SecretKey::View key, KeyBlock& block) {
  const RingSnapshot& ring = reader_.get();
  const std::uint32_t current = ring.current;
  if (current == 0) return fail(Errc::kNotFound, "the ring has no current master key");
  auto wrapper = wrapper_for(ring, current);
  if (!wrapper) return fail(std::move(wrapper.error()));
  Wrapper& with = **wrapper;
  if (!with.allowance.spend()) {
    return fail(Errc::kRefused,
                fmt::format("master key version {} has wrapped all the data keys it may; rotate it",
                            current));
  }
  const MutableBytes bytes(block);
  store_u32(bytes.subspan(envelope::kMasterVersionAt), current);
  std::ranges::copy(with.master->id(), block.begin() + envelope::kMasterIdAt);
  const auto nonce = bytes.subspan<envelope::kWrapNonceAt, kNonceBytes>();
  auto drawn = draw_nonce(nonce);
  if (!drawn) return drawn;
  return with.seal.seal(nonce, wrap_aad(block), key,
                        bytes.subspan<envelope::kWrappedKeyAt, kKeyBytes>(),
                        bytes.subspan<envelope::kWrapTagAt, kTagBytes>());
}

Result<KeyBlock> VaultSession::wrap(SecretKey::View key) {
  const auto commitment = key_digest(key, kCommitmentLabel);
  if (!commitment) return fail(commitment.error());
  KeyBlock block = make_key_block(*commitment);
  auto wrapped = wrap_into(key, block);
  if (!wrapped) return fail(std::move(wrapped.error()));
  return block;
}

Result<void> VaultSession::unwrap_into(KeyBlockView block, SecretKey& key) {
  const std::uint32_t version = master_version_of(block);
  auto wrapper = wrapper_for(reader_.get(), version);
  if (!wrapper) return fail(std::move(wrapper.error()));
  Wrapper& with = **wrapper;
  if (!equal_in_constant_time(master_id_of(block), with.master->id())) {
    return fail(Errc::kNotFound,
                fmt::format("master key version {} here is not the one that sealed this", version));
  }
  auto opened =
      with.open.open(block.subspan<envelope::kWrapNonceAt, kNonceBytes>(), wrap_aad(block),
                     block.subspan<envelope::kWrappedKeyAt, kKeyBytes>(),
                     block.subspan<envelope::kWrapTagAt, kTagBytes>(), key.mutable_view());
  if (!opened) {
    if (opened.error().code != Errc::kCorrupt) return opened;
    return fail(Errc::kCorrupt, "the wrapped data key fails its check: altered bytes");
  }
  const auto commitment = key_digest(key.view(), kCommitmentLabel);
  if (commitment && equal_in_constant_time(commitment_of(block), *commitment)) return {};
  cleanse(key.mutable_view());
  if (!commitment) return fail(commitment.error());
  return fail(Errc::kCorrupt, "the data key is not the one that the header commits to");
}

Result<std::shared_ptr<const DataKey>> VaultSession::new_data_key(std::uint64_t seal_limit) {
  auto key = SecretKey::generate(policy_);
  if (!key) return fail(key.error());
  auto block = wrap(key->view());
  if (!block) return fail(std::move(block.error()));
  return std::make_shared<const DataKey>(std::move(*key), *block, seal_limit);
}

Result<std::shared_ptr<const DataKey>> VaultSession::unwrap(Bytes envelope) {
  auto block = checked_block(envelope);
  if (!block) return fail(std::move(block.error()));
  auto key = SecretKey::zero(policy_);
  if (!key) return fail(key.error());
  auto unwrapped = unwrap_into(*block, *key);
  if (!unwrapped) return fail(std::move(unwrapped.error()));
  KeyBlock copy;
  std::ranges::copy(*block, copy.begin());
  return std::make_shared<const DataKey>(std::move(*key), copy, 0);
}

Result<std::size_t> VaultSession::seal(Bytes context, Bytes plaintext, MutableBytes out) {
  auto checked = check_seal_arguments(context, plaintext, out);
  if (!checked) return fail(std::move(checked.error()));
  const Cleansed guard(scratch_);
  auto drawn = draw_key(scratch_.mutable_view());
  if (!drawn) return fail(std::move(drawn.error()));
  const auto block = wrap(scratch_.view());
  if (!block) return fail(block.error());
  auto keyed = sealing_.rekey(scratch_.view());
  if (!keyed) return fail(std::move(keyed.error()));
  const std::size_t size = sealed_size(plaintext.size());
  auto written = write_envelope(sealing_, *block, context, plaintext, out.first(size));
  if (!written) return fail(std::move(written.error()));
  return size;
}

Result<std::size_t> VaultSession::open(Bytes context, Bytes envelope, MutableBytes out) {
  auto checked = check_open_arguments(context, envelope, out);
  if (!checked) return fail(std::move(checked.error()));
  const Cleansed guard(scratch_);
  auto unwrapped = unwrap_into(key_block_of(envelope), scratch_);
  if (!unwrapped) return fail(std::move(unwrapped.error()));
  auto keyed = opening_.rekey(scratch_.view());
  if (!keyed) return fail(std::move(keyed.error()));
  const std::size_t size = plaintext_size_of(envelope);
  auto opened = read_envelope(opening_, envelope, context, out.first(size));
  if (!opened) return fail(std::move(opened.error()));
  return size;
}

Result<KeyBlock> VaultSession::rewrap(Bytes envelope) {
  auto old = checked_block(envelope);
  if (!old) return fail(std::move(old.error()));
  const Cleansed guard(scratch_);
  auto unwrapped = unwrap_into(*old, scratch_);
  if (!unwrapped) return fail(std::move(unwrapped.error()));
  KeyBlock block;
  std::ranges::copy(*old, block.begin());
  auto wrapped = wrap_into(scratch_.view(), block);
  if (!wrapped) return fail(std::move(wrapped.error()));
  return block;
}

void VaultSession::release() noexcept {
  sealing_.forget_key();
  opening_.forget_key();
  wrappers_.clear();
  pruned_at_ = 0;
  reader_.release();
}

}  // namespace plimsoll::vault
