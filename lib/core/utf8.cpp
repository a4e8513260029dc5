#include "lib/core/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace plimsoll {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;
constexpr std::uint64_t kOnes = 0x0101010101010101ULL;

/// Eight bytes that are all ASCII and none of them NUL.
bool is_plain(std::string_view text, std::size_t at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, text.data() + at, sizeof word);
  // Below 0x80 a byte borrows in the subtraction exactly when it is 0.
  return (word & kHighBits) == 0 && ((word - kOnes) & kHighBits) == 0;
}

/// Length of the sequence that begins at `at`; 0 when it is none.
std::size_t sequence_length(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t offset) {
    return at + offset < text.size() ? static_cast<unsigned char>(text[at + offset]) : 0U;
  };
  const auto tail = [&](std::size_t offset) { return (byte(offset) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead == 0) return 0;
  if (lead < 0x80U) return 1;
  if (lead >= 0xC2U && lead <= 0xDFU) return tail(1) ? 2 : 0;
  if (lead >= 0xE0U && lead <= 0xEFU) {
    const bool overlong = lead == 0xE0U && byte(1) < 0xA0U;
    const bool surrogate = lead == 0xEDU && byte(1) > 0x9FU;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0U && lead <= 0xF4U) {
    const bool overlong = lead == 0xF0U && byte(1) < 0x90U;
    const bool beyond = lead == 0xF4U && byte(1) > 0x8FU;
    return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::optional<std::size_t> utf8_fault(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    if (at + 8 <= text.size() && is_plain(text, at)) {
      at += 8;
      continue;
    }
    const std::size_t length = sequence_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace plimsoll
