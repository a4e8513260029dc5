#include "lib/kv_store/range.hpp"

#include <cstdint>

#include "lib/kv_store/types.hpp"

namespace plimsoll::kv {
namespace {

constexpr std::uint32_t kLast = 0x10FFFF;
constexpr std::string_view kLastBytes = "\xF4\x8F\xBF\xBF";

/// Takes the last code point off. REQUIRES: valid UTF-8, not empty.
std::uint32_t take_last(std::string_view& text) {
  std::size_t at = text.size() - 1;
  while ((static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  const std::size_t length = text.size() - at;
  constexpr std::uint32_t kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t point = static_cast<unsigned char>(text[at]) & kLeadBits[length];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    point = point << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  text.remove_suffix(length);
  return point;
}

void append(std::string& text, std::uint32_t point) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80U | (point >> shift & 0x3FU));
  };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0U | point >> 6U);
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0U | point >> 12U);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0U | point >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

std::string end_of_prefix(std::string_view prefix) {
  while (!prefix.empty()) {
    const std::uint32_t point = take_last(prefix);
    if (point == kLast) continue;
    std::string end(prefix);
    append(end, point == 0xD7FF ? 0xE000 : point + 1);  // Surrogates are no text.
    return end;
  }
  // A key of the longest length and of the last code point only is a true prefix of this.
  std::string beyond;
  while (beyond.size() <= kMaxKeyBytes) beyond += kLastBytes;
  return beyond;
}

std::string just_behind(std::string_view key) { return std::string(key) + '\x01'; }

}  // namespace plimsoll::kv
