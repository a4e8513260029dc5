#include "lib/kv_store/redis_store.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "lib/kv_store/place.hpp"

namespace plimsoll::kv {
namespace {

/// The value of a line `name:value` of INFO; empty when there is none.
std::string_view info_line(std::string_view info, std::string_view wanted) {
  while (!info.empty()) {
    const auto line = info.substr(0, info.find('\n'));
    info.remove_prefix(std::min(info.size(), line.size() + 1));
    if (line.starts_with(wanted) && line.substr(wanted.size()).starts_with(':')) {
      auto value = line.substr(wanted.size() + 1);
      if (value.ends_with('\r')) value.remove_suffix(1);
      return value;
    }
  }
  return {};
}

Result<void> check_eviction(std::string_view info) {
  const auto limit = info_line(info, "maxmemory");
  const auto policy = info_line(info, "maxmemory_policy");
  if (limit == "0" || policy == "noeviction") return {};
  return fail(Errc::kRefused,
              fmt::format("kv: this Redis throws entries out when it has {} bytes "
                          "(maxmemory-policy {}), acknowledged or not; set maxmemory-policy to "
                          "noeviction, or allow it by RedisConfig::allow_eviction",
                          limit, policy));
}

/// Where CONFIG is not ours to read, the least that an append-only file promises.
Durability durability_of(std::string_view info, const Result<redis::Reply>& config) {
  if (info_line(info, "aof_enabled") != "1") return Durability::kMemory;
  if (!config || config->elements().size() != 2) return Durability::kSystem;
  const auto policy = config->elements()[1].text();
  if (policy == "always") return Durability::kAlways;
  return policy == "everysec" ? Durability::kEverySecond : Durability::kSystem;
}

std::optional<Version> version_of(std::string_view digits) {
  Version version = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return version;
}

tl::unexpected<Error> corrupt(std::string_view what) {
  return fail(Errc::kCorrupt,
              fmt::format("kv: {} in Redis is not as this store writes it; somebody else wrote "
                          "below its prefix",
                          what));
}

Result<std::optional<Entry>> entry_of(redis::Reply reply) {
  if (reply.is_nil()) return std::optional<Entry>();
  std::string text = std::move(reply).take_text();
  const auto colon = text.find(':');
  if (colon == std::string::npos) return corrupt("an entry");
  const auto version = version_of(std::string_view(text).substr(0, colon));
  if (!version) return corrupt("an entry");
  text.erase(0, colon + 1);
  return std::optional<Entry>(std::in_place, std::move(text), *version);
}

}  // namespace

std::string_view name(Durability durability) noexcept {
  constexpr std::array<std::string_view, 4> kNames{"memory", "system", "everysec", "always"};
  return kNames[static_cast<std::size_t>(durability)];
}

RedisStore::RedisStore(redis::Channel& channel, RedisConfig config, RedisScripts scripts,
                       Durability durability)
    : channel_(channel),
      keys_{std::move(config.prefix)},
      scripts_(std::move(scripts)),
      durability_(durability) {}

asio::awaitable<Result<std::unique_ptr<RedisStore>>> RedisStore::open(redis::Channel& channel,
                                                                      RedisConfig config) {
  return open(channel, std::move(config), redis_scripts());
}

asio::awaitable<Result<std::unique_ptr<RedisStore>>> RedisStore::open(redis::Channel& channel,
                                                                      RedisConfig config,
                                                                      RedisScripts scripts) {
  std::vector<redis::Command> questions;
  questions.emplace_back("INFO", "memory");
  questions.emplace_back("INFO", "persistence");
  questions.emplace_back("CONFIG", "GET", "appendfsync");
  std::vector<Result<redis::Reply>> answers = co_await channel.pipeline(std::move(questions));
  for (std::size_t i = 0; i < 2; ++i) {
    if (!answers[i]) co_return fail(answers[i].error());
  }
  if (!config.allow_eviction) {
    if (auto bad = check_eviction(answers[0]->text()); !bad) co_return fail(bad.error());
  }
  const Durability durability = durability_of(answers[1]->text(), answers[2]);
  co_return std::unique_ptr<RedisStore>(
      new RedisStore(channel, std::move(config), std::move(scripts), durability));
}

asio::awaitable<Result<std::optional<Entry>>> RedisStore::do_get(std::string tenant,
                                                                 std::string key) {
  redis::Command command("GET", keys_.entry(tenant, key));
  Result<redis::Reply> reply = co_await channel_.command(std::move(command));
  if (!reply) co_return fail(std::move(reply.error()));
  co_return entry_of(std::move(*reply));
}

asio::awaitable<Result<std::vector<std::optional<Entry>>>> RedisStore::do_get_all(
    std::string tenant, std::vector<std::string> keys) {
  redis::Command command("MGET");
  for (const std::string& key : keys) command.add(keys_.entry(tenant, key));
  Result<redis::Reply> reply = co_await channel_.command(std::move(command));
  if (!reply) co_return fail(std::move(reply.error()));
  if (reply->elements().size() != keys.size()) co_return corrupt("the answer to MGET");
  std::vector<std::optional<Entry>> entries;
  entries.reserve(keys.size());
  for (redis::Reply& one : reply->elements()) {
    auto entry = entry_of(std::move(one));
    if (!entry) co_return fail(std::move(entry.error()));
    entries.push_back(std::move(*entry));
  }
  co_return entries;
}

asio::awaitable<Result<std::vector<Version>>> RedisStore::write(std::string tenant,
                                                                std::vector<Write> writes,
                                                                std::string expected) {
  std::vector<std::string> keys{keys_.counter(), keys_.index(tenant), keys_.expiries()};
  std::vector<std::string> arguments{std::move(expected)};
  const std::size_t count = writes.size();
  keys.reserve(3 + count);
  arguments.reserve(1 + 4 * count);
  for (Write& one : writes) {
    keys.push_back(keys_.entry(tenant, one.key));
    std::string place = place_of(tenant, one.key);
    arguments.push_back(std::move(one.value));
    arguments.push_back(one.ttl ? std::to_string(one.ttl->count()) : std::string());
    arguments.push_back(std::move(one.key));
    arguments.push_back(std::move(place));
  }
  Result<redis::Reply> reply =
      co_await scripts_.write.run(channel_, std::move(keys), std::move(arguments));
  if (!reply) co_return fail(std::move(reply.error()));
  std::vector<Version> versions;
  if (reply->is_nil()) co_return versions;
  for (const redis::Reply& one : reply->elements()) {
    const auto version = version_of(one.text());
    if (!version) co_return corrupt("the last version");
    versions.push_back(*version);
  }
  if (versions.size() != count) co_return corrupt("the answer to a write");
  co_return versions;
}

asio::awaitable<Result<Version>> RedisStore::do_set(std::string tenant, Write write) {
  std::vector<Write> writes;
  writes.push_back(std::move(write));
  Result<std::vector<Version>> versions =
      co_await this->write(std::move(tenant), std::move(writes), std::string());
  if (!versions) co_return fail(std::move(versions.error()));
  co_return versions->front();
}

asio::awaitable<Result<std::vector<Version>>> RedisStore::do_set_all(std::string tenant,
                                                                     std::vector<Write> writes) {
  return write(std::move(tenant), std::move(writes), std::string());
}

asio::awaitable<Result<Version>> RedisStore::do_compare_and_set(std::string tenant, Write write,
                                                                Version expected) {
  const std::string key = write.key;
  std::vector<Write> writes;
  writes.push_back(std::move(write));
  Result<std::vector<Version>> versions =
      co_await this->write(std::move(tenant), std::move(writes), std::to_string(expected));
  if (!versions) co_return fail(std::move(versions.error()));
  if (versions->empty()) co_return fail(conflict(key, expected));
  co_return versions->front();
}

asio::awaitable<Result<bool>> RedisStore::do_erase(std::string tenant, std::string key) {
  std::vector<std::string> keys{keys_.entry(tenant, key), keys_.index(tenant)};
  std::vector<std::string> arguments{std::move(key)};
  Result<redis::Reply> reply =
      co_await scripts_.erase.run(channel_, std::move(keys), std::move(arguments));
  if (!reply) co_return fail(std::move(reply.error()));
  const auto found = reply->integer();
  if (!found) co_return fail(Errc::kProtocol, found.error().message);
  co_return *found == 1;
}

asio::awaitable<Result<Store::Found>> RedisStore::do_list(std::string tenant, Range range) {
  std::vector<std::string> keys{keys_.index(tenant)};
  std::vector<std::string> arguments{'[' + range.from, '(' + range.end, std::to_string(range.limit),
                                     keys_.entries(tenant)};
  Result<redis::Reply> reply =
      co_await scripts_.list.run(channel_, std::move(keys), std::move(arguments));
  if (!reply) co_return fail(std::move(reply.error()));
  const auto parts = reply->elements();
  if (parts.size() != 3 || parts[2].elements().size() % 2 != 0) {
    co_return fail(Errc::kProtocol, "kv list: the script's answer cannot be read");
  }
  const auto looked_at = parts[0].integer();
  if (!looked_at) co_return fail(Errc::kProtocol, looked_at.error().message);
  Found found;
  const auto pairs = parts[2].elements();
  found.entries.reserve(pairs.size() / 2);
  for (std::size_t at = 0; at < pairs.size(); at += 2) {
    const auto version = version_of(pairs[at + 1].text());
    if (!version) co_return corrupt("an entry");
    found.entries.emplace_back(std::string(pairs[at].text()), *version);
  }
  if (std::cmp_equal(*looked_at, range.limit)) found.more_after = std::string(parts[1].text());
  co_return found;
}

asio::awaitable<Result<std::size_t>> RedisStore::do_sweep(std::size_t limit) {
  std::vector<std::string> keys{keys_.expiries()};
  std::vector<std::string> arguments{std::to_string(limit), keys_.prefix};
  Result<redis::Reply> reply =
      co_await scripts_.sweep.run(channel_, std::move(keys), std::move(arguments));
  if (!reply) co_return fail(std::move(reply.error()));
  if (reply->elements().size() != 2) {
    co_return fail(Errc::kProtocol, "kv sweep: the script's answer cannot be read");
  }
  const auto gone = reply->elements()[1].integer();
  if (!gone) co_return fail(Errc::kProtocol, gone.error().message);
  co_return static_cast<std::size_t>(*gone);
}

}  // namespace plimsoll::kv
