#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/key_ring.hpp"
#include "lib/vault_crypto/session.hpp"

namespace plimsoll::vault::testing {

using Buffer = std::vector<std::byte>;

/// The value, or the test's end with the error's words.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error("unexpected error: " + result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline Buffer from_hex(std::string_view hex) {
  Buffer bytes;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  }
  return bytes;
}

/// 32 bytes that count up from `first`.
inline std::array<std::byte, kKeyBytes> key_material(unsigned first) {
  std::array<std::byte, kKeyBytes> key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(first + i);
  return key;
}

inline std::shared_ptr<const MasterKey> master(std::uint32_t version, unsigned first,
                                               std::uint64_t limit = kMaxSeals) {
  return must(MasterKey::create(version, key_material(first), limit));
}

/// A ring with versions 1 to `versions`; the last is current.
inline std::unique_ptr<KeyRing> make_ring(std::uint32_t versions = 1) {
  auto ring = std::make_unique<KeyRing>();
  for (std::uint32_t v = 1; v <= versions; ++v) must(ring->add(master(v, v * 32)));
  must(ring->make_current(versions));
  return ring;
}

inline Buffer seal(VaultSession& session, std::string_view context, std::string_view plaintext) {
  Buffer out(sealed_size(plaintext.size()));
  EXPECT_EQ(must(session.seal(bytes_of(context), bytes_of(plaintext), out)), out.size());
  return out;
}

/// The plaintext, or the error.
inline Result<std::string> open(VaultSession& session, std::string_view context, Bytes envelope) {
  Buffer out(envelope.size() + 1);
  auto size = session.open(bytes_of(context), envelope, out);
  if (!size) return fail(size.error());
  return std::string(text_of(Bytes(out).first(*size)));
}

inline Errc code_of(const auto& result) {
  if (result) throw std::runtime_error("expected an error");
  return result.error().code;
}

}  // namespace plimsoll::vault::testing
