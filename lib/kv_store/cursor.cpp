#include "lib/kv_store/cursor.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>

#include "lib/kv_store/checks.hpp"
#include "lib/kv_store/place.hpp"

namespace plimsoll::kv {
namespace {

constexpr std::string_view kMark = "kv1";
constexpr std::size_t kDigits = 16;

// FNV-1a, 64 bits: finds damage and tells listings apart; nothing secret depends on it.
std::uint64_t hash_of(std::string_view bytes) noexcept {
  std::uint64_t state = 14695981039346656037ULL;
  for (const char byte : bytes) {
    state ^= static_cast<unsigned char>(byte);
    state *= 1099511628211ULL;
  }
  return state;
}

std::string scope_of(std::string_view tenant, std::string_view prefix) {
  return fmt::format("{:016x}", hash_of(place_of(tenant, prefix)));
}

std::string hex(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

std::optional<std::string> unhex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned value = 0;
    const char* const end = text.data() + at + 2;
    const auto [stop, error] = std::from_chars(text.data() + at, end, value, 16);
    if (error != std::errc{} || stop != end) return std::nullopt;
    bytes += static_cast<char>(value);
  }
  return bytes;
}

tl::unexpected<Error> damaged() {
  return fail(Errc::kInvalidArgument,
              "kv list: the cursor is none of this store's, or was cut or changed; begin the "
              "listing anew without one");
}

}  // namespace

std::string encode_cursor(std::string_view tenant, std::string_view prefix,
                          std::string_view last_key) {
  std::string body = fmt::format("{}.{}.{}", kMark, scope_of(tenant, prefix), hex(last_key));
  return fmt::format("{}.{:016x}", body, hash_of(body));
}

Result<std::string> decode_cursor(std::string_view cursor, std::string_view tenant,
                                  std::string_view prefix) {
  constexpr std::size_t kFrame = kMark.size() + 1 + kDigits + 1;  // Up to the key.
  if (cursor.size() < kFrame + 1 + kDigits || !cursor.starts_with(kMark)) return damaged();
  const auto body = cursor.substr(0, cursor.size() - kDigits - 1);
  if (cursor != fmt::format("{}.{:016x}", body, hash_of(body))) return damaged();
  auto key = unhex(body.substr(kFrame));
  if (!key || !check_key("list", *key)) return damaged();
  if (body.substr(kMark.size() + 1, kDigits) != scope_of(tenant, prefix)) {
    return fail(Errc::kRefused,
                "kv list: the cursor belongs to another tenant or to another prefix; a listing "
                "goes on only with its own");
  }
  return std::move(*key);
}

}  // namespace plimsoll::kv
