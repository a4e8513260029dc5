#include "lib/kv_store/redis_scripts.hpp"

#include "lib/kv_store/place.hpp"

namespace plimsoll::kv {
namespace {

// Versions are microseconds of the server's clock, and larger than the last: whatever a crash takes
// from the end of the log, or all of it, no version comes twice, unless the clock was set back,
// too. Lua would print so large a number with an exponent.
constexpr const char* kWrite = R"lua(
if ARGV[1] ~= '' then
  local held = redis.call('GETRANGE', KEYS[4], 0, 31)
  if (string.match(held, '^(%d+):') or '0') ~= ARGV[1] then return false end
end
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local version = tonumber(redis.call('GET', KEYS[1]) or '0')
local versions = {}
for n = 1, #KEYS - 3 do
  local at = 4 * n - 2
  local value, ttl, key, place = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  version = math.max(version + 1, clock)
  versions[n] = string.format('%.0f', version)
  if ttl == '' then
    redis.call('SET', KEYS[3 + n], versions[n] .. ':' .. value)
  else
    redis.call('SET', KEYS[3 + n], versions[n] .. ':' .. value, 'PX', ttl)
    redis.call('ZADD', KEYS[3], math.floor(clock / 1000) + ttl, place)
  end
  redis.call('ZADD', KEYS[2], 0, key)
end
redis.call('SET', KEYS[1], versions[#versions])
return versions
)lua";

constexpr const char* kErase = R"lua(
local found = redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return found
)lua";

constexpr const char* kList = R"lua(
local keys = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local found = {}
for _, key in ipairs(keys) do
  local version = string.match(redis.call('GETRANGE', ARGV[4] .. key, 0, 31), '^(%d+):')
  if version then
    found[#found + 1] = key
    found[#found + 1] = version
  else
    redis.call('ZREM', KEYS[1], key)
  end
end
return {#keys, keys[#keys] or '', found}
)lua";

// What was written again meanwhile stays, and is looked at again when its new ttl ends.
constexpr const char* kSweep = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local places = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
local gone = 0
for _, place in ipairs(places) do
  local left = redis.call('PTTL', ARGV[2] .. 'e' .. place)
  if left >= 0 then
    redis.call('ZADD', KEYS[1], now + left + 1, place)
  else
    redis.call('ZREM', KEYS[1], place)
    if left == -2 then
      local colon = string.find(place, ':', 1, true)
      local ends = colon + tonumber(string.sub(place, 1, colon - 1))
      redis.call('ZREM', ARGV[2] .. 'i' .. string.sub(place, 1, ends), string.sub(place, ends + 2))
      gone = gone + 1
    end
  end
end
return {#places, gone}
)lua";

}  // namespace

std::string RedisKeys::entry(std::string_view tenant, std::string_view key) const {
  return prefix + 'e' + place_of(tenant, key);
}

std::string RedisKeys::entries(std::string_view tenant) const {
  return prefix + 'e' + place_of(tenant) + ':';
}

std::string RedisKeys::index(std::string_view tenant) const {
  return prefix + 'i' + place_of(tenant);
}

RedisScripts redis_scripts() {
  return {redis::Script(kWrite), redis::Script(kErase), redis::Script(kList),
          redis::Script(kSweep)};
}

}  // namespace plimsoll::kv
