#include "lib/vault_crypto/envelope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/vault_crypto/random.hpp"

namespace plimsoll::vault {
namespace {

constexpr std::array<std::byte, 4> kMagic{std::byte{'P'}, std::byte{'L'}, std::byte{'M'},
                                          std::byte{'V'}};

// What the data's tag covers before the caller's context: what a rotation leaves as it is.
constexpr std::size_t kBoundBytes =
    envelope::kMasterVersionAt + (envelope::kHeaderBytes - envelope::kDataNonceAt);

// A short context is joined to the header's part, so that OpenSSL is called once for both.
class DataAad {
 public:
  DataAad(Bytes header, Bytes context) noexcept {
    std::memcpy(joined_, header.data(), envelope::kMasterVersionAt);
    std::memcpy(joined_ + envelope::kMasterVersionAt, header.data() + envelope::kDataNonceAt,
                kBoundBytes - envelope::kMasterVersionAt);
    if (context.size() <= sizeof(joined_) - kBoundBytes) {
      if (!context.empty()) std::memcpy(joined_ + kBoundBytes, context.data(), context.size());
      aad_ = {.first = Bytes(joined_, kBoundBytes + context.size())};
    } else {
      aad_ = {.first = Bytes(joined_, kBoundBytes), .second = context};
    }
  }
  DataAad(const DataAad&) = delete;
  DataAad& operator=(const DataAad&) = delete;

  [[nodiscard]] Aad get() const noexcept { return aad_; }

 private:
  std::byte joined_[256];
  Aad aad_;
};

Result<void> check_context(Bytes context) {
  if (context.size() <= kMaxContext) return {};
  return fail(Errc::kInvalidArgument, fmt::format("context of {} bytes; at most {} are allowed",
                                                  context.size(), kMaxContext));
}

}  // namespace

KeyBlock make_key_block(const KeyDigest& commitment) noexcept {
  KeyBlock block{};
  std::ranges::copy(kMagic, block.begin());
  block[envelope::kFormatAt] = std::byte{envelope::kFormat};
  block[envelope::kSuiteAt] = std::byte{envelope::kSuite};
  store_u16(MutableBytes(block).subspan(envelope::kHeaderLengthAt), envelope::kHeaderBytes);
  std::ranges::copy(commitment, block.begin() + envelope::kCommitmentAt);
  return block;
}

Result<void> check_key_block(KeyBlockView block) {
  if (!std::ranges::equal(block.first<kMagic.size()>(), kMagic)) {
    return fail(Errc::kCorrupt, "not an envelope: it does not start with PLMV");
  }
  const auto format = std::to_integer<unsigned>(block[envelope::kFormatAt]);
  if (format != envelope::kFormat) {
    return fail(Errc::kRejected,
                fmt::format("envelope format {}; this program knows format 1", format));
  }
  const auto suite = std::to_integer<unsigned>(block[envelope::kSuiteAt]);
  if (suite != envelope::kSuite) {
    return fail(Errc::kRejected, fmt::format("cipher suite {}; this program knows suite 1", suite));
  }
  const auto length = load_u16(Bytes(block).subspan(envelope::kHeaderLengthAt));
  if (length != envelope::kHeaderBytes) {
    return fail(Errc::kCorrupt,
                fmt::format("header length {}; format 1 has {}", length, envelope::kHeaderBytes));
  }
  return {};
}

Result<void> check_shape(Bytes bytes) {
  if (bytes.size() < envelope::kOverhead) {
    return fail(Errc::kInvalidArgument, fmt::format("no envelope: {} bytes, the shortest has {}",
                                                    bytes.size(), envelope::kOverhead));
  }
  auto block = check_key_block(key_block_of(bytes));
  if (!block) return block;
  const std::size_t named = load_u32(bytes.subspan(envelope::kDataLengthAt));
  const std::size_t held = plaintext_size_of(bytes);
  if (named > kMaxMessage) {
    return fail(Errc::kCorrupt, fmt::format("the header names {} bytes of plaintext; at most {} "
                                            "are possible",
                                            named, kMaxMessage));
  }
  if (named != held) {
    return fail(Errc::kCorrupt, fmt::format("the header names {} bytes of plaintext, but there "
                                            "are {}: cut short or run together",
                                            named, held));
  }
  return {};
}

Result<void> write_envelope(AesGcm& gcm, KeyBlockView block, Bytes context, Bytes plaintext,
                            MutableBytes out) {
  std::ranges::copy(block, out.begin());
  const auto nonce = out.subspan<envelope::kDataNonceAt, kNonceBytes>();
  auto drawn = draw_nonce(nonce);
  if (!drawn) {
    cleanse(out);
    return drawn;
  }
  store_u32(out.subspan(envelope::kDataLengthAt), static_cast<std::uint32_t>(plaintext.size()));
  const DataAad aad(out, context);
  auto sealed =
      gcm.seal(nonce, aad.get(), plaintext, out.subspan(envelope::kHeaderBytes, plaintext.size()),
               out.last<kTagBytes>());
  if (!sealed) cleanse(out);
  return sealed;
}

Result<void> read_envelope(AesGcm& gcm, Bytes envelope, Bytes context, MutableBytes out) {
  const DataAad aad(envelope, context);
  auto opened = gcm.open(envelope.subspan<envelope::kDataNonceAt, kNonceBytes>(), aad.get(),
                         envelope.subspan(envelope::kHeaderBytes, out.size()),
                         envelope.last<kTagBytes>(), out);
  if (!opened && opened.error().code == Errc::kCorrupt) {
    return fail(Errc::kCorrupt, "the data fails its check: altered bytes or another context");
  }
  return opened;
}

Result<void> check_seal_arguments(Bytes context, Bytes plaintext, MutableBytes out) {
  if (plaintext.size() > kMaxMessage) {
    return fail(Errc::kInvalidArgument, fmt::format("plaintext of {} bytes; at most {} are allowed",
                                                    plaintext.size(), kMaxMessage));
  }
  if (out.size() < sealed_size(plaintext.size())) {
    return fail(Errc::kInvalidArgument, fmt::format("room for {} bytes; the envelope takes {}",
                                                    out.size(), sealed_size(plaintext.size())));
  }
  return check_context(context);
}

Result<void> check_open_arguments(Bytes context, Bytes envelope, MutableBytes out) {
  auto shape = check_shape(envelope);
  if (!shape) return shape;
  if (out.size() < plaintext_size_of(envelope)) {
    return fail(Errc::kInvalidArgument, fmt::format("room for {} bytes; the plaintext has {}",
                                                    out.size(), plaintext_size_of(envelope)));
  }
  return check_context(context);
}

}  // namespace plimsoll::vault
