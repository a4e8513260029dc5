#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bench/kv_store/stage.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::bench {
namespace {

std::string owner_of(const Stock& stock, std::size_t place) {
  return fmt::format("{}/{}/", tenant_of(stock, place), key_of(stock, place));
}

// Keys and bodies are the same text in both subjects.
constexpr std::string_view kFill = R"sql(
TRUNCATE entries;
INSERT INTO entries (tenant, key, value, version)
SELECT t::text, k::text, left(t || '/' || k || '/0/' || body, {value}), nextval('versions')
FROM generate_series(1, {tenants}) t, generate_series({first}, {first} + {keys} - 1) k,
     (SELECT '{body}'::text AS body) b;
ANALYZE entries;
)sql";

constexpr std::string_view kFillScript = R"lua(
local tenant, prefix, body, size = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
for k = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local key = string.format('%d', k)
  local version = redis.call('INCR', KEYS[1])
  local value = string.sub(tenant .. '/' .. key .. '/0/' .. body, 1, size)
  redis.call('SET', prefix .. key, string.format('%.0f', version) .. ':' .. value)
  redis.call('ZADD', KEYS[2], 0, key)
end
return 'OK'
)lua";

}  // namespace

std::string_view name(Subject subject) noexcept {
  return subject == Subject::kPostgres ? "postgres" : "redis";
}

std::string tenant_of(const Stock& stock, std::size_t place) {
  return std::to_string(1 + place / stock.keys);
}

std::string key_of(const Stock& stock, std::size_t place) {
  return std::to_string(kFirstKey + place % stock.keys);
}

std::string value_of(const Stock& stock, std::size_t place, std::int64_t number) {
  static const std::string body = body_of(1UL << 20);
  std::string value = fmt::format("{}{}/", owner_of(stock, place), number);
  value.append(body, 0, stock.value - std::min(stock.value, value.size()));
  return value;
}

std::int64_t number_in(const Stock& stock, std::size_t place, std::string_view value) {
  const std::string owner = owner_of(stock, place);
  if (value.size() != stock.value || !value.starts_with(owner)) return -1;
  std::int64_t number = 0;
  const char* const begin = value.data() + owner.size();
  const auto [end, error] = std::from_chars(begin, value.data() + value.size(), number);
  return error == std::errc{} && end != begin && *end == '/' ? number : -1;
}

std::string body_of(std::size_t bytes) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-";
  Rng draw(7);
  std::string body;
  body.reserve(bytes);
  while (body.size() < bytes) body += kLetters[draw.below(kLetters.size())];
  return body;
}

std::string fill_sql(const Stock& stock) {
  return fmt::format(kFill, fmt::arg("value", stock.value), fmt::arg("tenants", stock.tenants),
                     fmt::arg("keys", stock.keys), fmt::arg("first", kFirstKey),
                     fmt::arg("body", body_of(stock.value)));
}

std::string fill_script() { return std::string(kFillScript); }

}  // namespace plimsoll::bench
