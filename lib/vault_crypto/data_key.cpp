#include "lib/vault_crypto/data_key.hpp"

#include <cstring>

namespace plimsoll::vault {

Result<Sealer> Sealer::create(std::shared_ptr<const DataKey> key) {
  auto gcm = AesGcm::create(AesGcm::Direction::kSeal, key->key());
  if (!gcm) return fail(gcm.error());
  return Sealer(std::move(key), std::move(*gcm));
}

Result<std::size_t> Sealer::seal(Bytes context, Bytes plaintext, MutableBytes out) {
  auto checked = check_seal_arguments(context, plaintext, out);
  if (!checked) return fail(std::move(checked.error()));
  if (!allowance_.spend()) {
    return fail(Errc::kRefused,
                "this data key has made all the seals it may; continue with a new data key");
  }
  const std::size_t size = sealed_size(plaintext.size());
  auto written = write_envelope(gcm_, key_->block(), context, plaintext, out.first(size));
  if (!written) return fail(std::move(written.error()));
  return size;
}

Result<Opener> Opener::create(std::shared_ptr<const DataKey> key) {
  auto gcm = AesGcm::create(AesGcm::Direction::kOpen, key->key());
  if (!gcm) return fail(gcm.error());
  return Opener(std::move(key), std::move(*gcm));
}

Result<std::size_t> Opener::open(Bytes context, Bytes envelope, MutableBytes out) {
  auto checked = check_open_arguments(context, envelope, out);
  if (!checked) return fail(std::move(checked.error()));
  // Both are public; no need to hide where they differ.
  if (std::memcmp(envelope.data(), key_->block().data(), kKeyBlockBytes) != 0) {
    return fail(Errc::kNotFound, "the envelope is under another data key or another wrap of it");
  }
  const std::size_t size = plaintext_size_of(envelope);
  auto opened = read_envelope(gcm_, envelope, context, out.first(size));
  if (!opened) return fail(std::move(opened.error()));
  return size;
}

}  // namespace plimsoll::vault
