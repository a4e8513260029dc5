#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/kv_store/redis_scripts.hpp"
#include "lib/kv_store/store.hpp"
#include "lib/redis/channel.hpp"

namespace plimsoll::kv {

struct RedisConfig {
  std::string prefix;  ///< What every key begins with; nobody else writes below it.
  /// Takes a server that may throw entries out when its memory is full.
  bool allow_eviction = false;
};

/// What an acknowledgement of a Redis promises, by its settings.
enum class Durability {
  kMemory,       ///< Nothing is written, or only snapshots: a restart loses what came since.
  kSystem,       ///< Written (appendfsync no, or not told): outlives a kill, not a loss of power.
  kEverySecond,  ///< Outlives a kill; a loss of power takes the last one to two seconds.
  kAlways,       ///< Synced before the answer: outlives both.
};

/// "memory", "system", "everysec" or "always".
[[nodiscard]] std::string_view name(Durability durability) noexcept;

/// The fast subject, on one Redis (no cluster), by scripts that are each atomic.
///
/// Acknowledged means done in the server's memory, and on its disk as far as `durability` says:
/// with Redis' own defaults that is not at all, and a restart loses everything. Nothing is hidden
/// of it, but nothing is promised beyond it either. Versions are not used twice even then
/// (redis_scripts.hpp).
///
/// A get is one GET; everything is one round trip, and calls of one turn of the loop travel
/// together. A listing goes through the tenant's own index: its cost is the page's, not the
/// database's, as SCAN's would be. A set_all is one script, so others wait for it.
///
/// Thread safety and errors: as Store and Channel. REQUIRES: the channel outlives the store.
class RedisStore final : public Store {
 public:
  /// Asks the server what it promises. Errors: kRefused where it may evict entries and `config`
  /// does not allow it; the channel's.
  [[nodiscard]] static asio::awaitable<Result<std::unique_ptr<RedisStore>>> open(
      redis::Channel& channel, RedisConfig config);
  /// The same with scripts of the caller's own, e.g. a test's.
  [[nodiscard]] static asio::awaitable<Result<std::unique_ptr<RedisStore>>> open(
      redis::Channel& channel, RedisConfig config, RedisScripts scripts);

  [[nodiscard]] std::string_view subject() const noexcept override { return "redis"; }
  /// As of `open`.
  [[nodiscard]] Durability durability() const noexcept { return durability_; }
  [[nodiscard]] const RedisKeys& keys() const noexcept { return keys_; }
  [[nodiscard]] const RedisScripts& scripts() const noexcept { return scripts_; }

 private:
  RedisStore(redis::Channel& channel, RedisConfig config, RedisScripts scripts,
             Durability durability);

  asio::awaitable<Result<std::optional<Entry>>> do_get(std::string tenant,
                                                       std::string key) override;
  asio::awaitable<Result<std::vector<std::optional<Entry>>>> do_get_all(
      std::string tenant, std::vector<std::string> keys) override;
  asio::awaitable<Result<Version>> do_set(std::string tenant, Write write) override;
  asio::awaitable<Result<std::vector<Version>>> do_set_all(std::string tenant,
                                                           std::vector<Write> writes) override;
  asio::awaitable<Result<Version>> do_compare_and_set(std::string tenant, Write write,
                                                      Version expected) override;
  asio::awaitable<Result<bool>> do_erase(std::string tenant, std::string key) override;
  asio::awaitable<Result<Found>> do_list(std::string tenant, Range range) override;
  asio::awaitable<Result<std::size_t>> do_sweep(std::size_t limit) override;

  /// The versions, or nothing where the entry is not at the expected one.
  [[nodiscard]] asio::awaitable<Result<std::vector<Version>>> write(std::string tenant,
                                                                    std::vector<Write> writes,
                                                                    std::string expected);

  redis::Channel& channel_;
  RedisKeys keys_;
  RedisScripts scripts_;
  Durability durability_;
};

}  // namespace plimsoll::kv
