#include "lib/vault_crypto/bytea.hpp"

namespace plimsoll::vault {
namespace {

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string to_bytea(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(2 + 2 * bytes.size(), '\\');
  text[1] = 'x';
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<unsigned>(bytes[i]);
    text[2 + 2 * i] = kDigits[value >> 4];
    text[3 + 2 * i] = kDigits[value & 15];
  }
  return text;
}

Result<std::vector<std::byte>> from_bytea(std::string_view text) {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) {
    return fail(Errc::kProtocol, "a bytea is not in the hex form; set bytea_output = hex");
  }
  std::vector<std::byte> bytes(text.size() / 2 - 1);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit_of(text[2 + 2 * i]), low = digit_of(text[3 + 2 * i]);
    if (high < 0 || low < 0) return fail(Errc::kProtocol, "a bytea with a digit that is none");
    bytes[i] = static_cast<std::byte>(high << 4 | low);
  }
  return bytes;
}

}  // namespace plimsoll::vault
