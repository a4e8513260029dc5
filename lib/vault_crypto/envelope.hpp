#pragma once

#include <array>
#include <cstdint>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/aes_gcm.hpp"
#include "lib/vault_crypto/bytes.hpp"
#include "lib/vault_crypto/secret_memory.hpp"

namespace plimsoll::vault {

/// The stored form of one secret, format 1. Integers are big-endian.
///
///     offset  bytes  field
///          0      4  magic "PLMV"
///          4      1  format, 1
///          5      1  suite, 1: AES-256-GCM twice, keyed BLAKE2b-256 for names of keys
///          6      2  length of this header, 136
///          8     32  commitment: the data key's name (key_digest)
///         40      4  master key version
///         44     16  master key id: the first half of the master key's name
///         60     12  nonce of the wrap
///         72     32  data key, encrypted under the master key
///        104     16  tag of the wrap
///        120     12  nonce of the data
///        132      4  length of the plaintext
///        136      n  ciphertext
///      136+n     16  tag of the data
///
/// The wrap authenticates bytes 0 to 60; the data's tag authenticates bytes 0 to 40 and 120 to 136
/// and then the caller's context. So every header byte is under a tag, and a rotation replaces
/// bytes 40 to 120 without touching the data. docs/groups/vault_crypto.md says what this does and
/// does not promise.
namespace envelope {
inline constexpr std::uint8_t kFormat = 1;
inline constexpr std::uint8_t kSuite = 1;
inline constexpr std::size_t kFormatAt = 4;
inline constexpr std::size_t kSuiteAt = 5;
inline constexpr std::size_t kHeaderLengthAt = 6;
inline constexpr std::size_t kCommitmentAt = 8;
inline constexpr std::size_t kMasterVersionAt = 40;
inline constexpr std::size_t kMasterIdAt = 44;
inline constexpr std::size_t kMasterIdBytes = 16;
inline constexpr std::size_t kWrapNonceAt = 60;
inline constexpr std::size_t kWrappedKeyAt = 72;
inline constexpr std::size_t kWrapTagAt = 104;
inline constexpr std::size_t kDataNonceAt = 120;
inline constexpr std::size_t kDataLengthAt = 132;
inline constexpr std::size_t kHeaderBytes = 136;
/// What an envelope is longer than its plaintext.
inline constexpr std::size_t kOverhead = kHeaderBytes + kTagBytes;
}  // namespace envelope

/// The part of a header that says which data key and under which master key: bytes 0 to 120. All
/// messages under one data key share it, byte for byte.
inline constexpr std::size_t kKeyBlockBytes = envelope::kDataNonceAt;
using KeyBlock = std::array<std::byte, kKeyBlockBytes>;
using KeyBlockView = std::span<const std::byte, kKeyBlockBytes>;

/// First half of a master key's name.
using MasterId = std::array<std::byte, envelope::kMasterIdBytes>;

/// The longest context: 64 KiB.
inline constexpr std::size_t kMaxContext = std::size_t{64} << 10;

/// Bytes that `seal` writes. REQUIRES: plaintext_bytes <= kMaxMessage.
[[nodiscard]] constexpr std::size_t sealed_size(std::size_t plaintext_bytes) noexcept {
  return plaintext_bytes + envelope::kOverhead;
}

/// Bytes 0 to 40 of every format-1 envelope with this commitment; the rest of the block is zero.
[[nodiscard]] KeyBlock make_key_block(const KeyDigest& commitment) noexcept;

/// Checks all that can be told without a key: size, magic, format, suite, header length, and that
/// the named length is the real one. Reads nothing outside `bytes`, allocates only to fail.
///
/// Errors: kInvalidArgument (shorter than any envelope), kRejected (a format or suite that this
/// program does not know: a newer one wrote it), kCorrupt (everything else).
[[nodiscard]] Result<void> check_shape(Bytes bytes);

/// The same for a key block by itself.
[[nodiscard]] Result<void> check_key_block(KeyBlockView block);

/// Fields of a block or envelope that has passed. REQUIRES: at least kKeyBlockBytes.
[[nodiscard]] inline KeyBlockView key_block_of(Bytes envelope) noexcept {
  return envelope.first<kKeyBlockBytes>();
}
[[nodiscard]] inline std::uint32_t master_version_of(Bytes block) noexcept {
  return load_u32(block.subspan(envelope::kMasterVersionAt, 4));
}
[[nodiscard]] inline Bytes master_id_of(Bytes block) noexcept {
  return block.subspan(envelope::kMasterIdAt, envelope::kMasterIdBytes);
}
[[nodiscard]] inline Bytes commitment_of(Bytes block) noexcept {
  return block.subspan(envelope::kCommitmentAt, sizeof(KeyDigest));
}
/// REQUIRES: an envelope that has passed check_shape.
[[nodiscard]] inline std::size_t plaintext_size_of(Bytes envelope) noexcept {
  return envelope.size() - envelope::kOverhead;
}

/// Writes one envelope under a keyed context: `block`, `nonce` and the sealed data. `out` must have
/// sealed_size bytes exactly and must not overlap `plaintext`; on failure all of it is zeroed.
[[nodiscard]] Result<void> write_envelope(AesGcm& gcm, KeyBlockView block, Bytes context,
                                          Bytes plaintext, MutableBytes out);

/// Opens the data of an envelope that has passed check_shape under a context keyed with its data
/// key. `out` must have the plaintext's size exactly.
/// Errors: kCorrupt (altered bytes or another context; GCM cannot tell which).
[[nodiscard]] Result<void> read_envelope(AesGcm& gcm, Bytes envelope, Bytes context,
                                         MutableBytes out);

/// The checks on a caller's arguments that every seal and open makes.
/// Errors: kInvalidArgument, naming the argument and its bound.
[[nodiscard]] Result<void> check_seal_arguments(Bytes context, Bytes plaintext, MutableBytes out);
[[nodiscard]] Result<void> check_open_arguments(Bytes context, Bytes envelope, MutableBytes out);

}  // namespace plimsoll::vault
