#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll::vault {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kNonceBytes = 12;
inline constexpr std::size_t kTagBytes = 16;

[[nodiscard]] inline Bytes bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

[[nodiscard]] inline std::string_view text_of(Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// OpenSSL speaks unsigned char.
[[nodiscard]] inline const unsigned char* octets(Bytes bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
[[nodiscard]] inline unsigned char* octets(MutableBytes bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

/// Big-endian integers of the envelope. REQUIRES: at least sizeof(value) bytes.
inline void store_u16(MutableBytes to, std::uint16_t value) noexcept {
  to[0] = static_cast<std::byte>(value >> 8);
  to[1] = static_cast<std::byte>(value);
}
inline void store_u32(MutableBytes to, std::uint32_t value) noexcept {
  for (std::size_t i = 0; i < 4; ++i) to[i] = static_cast<std::byte>(value >> (24 - 8 * i));
}
[[nodiscard]] inline std::uint16_t load_u16(Bytes from) noexcept {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(from[0]) << 8 |
                                    std::to_integer<unsigned>(from[1]));
}
[[nodiscard]] inline std::uint32_t load_u32(Bytes from) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(from[i]);
  return value;
}

}  // namespace plimsoll::vault
