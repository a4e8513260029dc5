#pragma once

#include <string>
#include <string_view>

#include "lib/redis/script.hpp"

namespace plimsoll::kv {

/// How the Redis subject lies in a database, under one prefix:
///
///   <prefix>e<place>          an entry: its version, a colon, its value. Has the ttl.
///   <prefix>i<place>          a tenant's index: a sorted set of its keys, all of score 0.
///   <prefix>x                 places of entries that have had a ttl, by the time when it ends
///   (ms). <prefix>n                 the last version.
///
/// A place is place_of: nothing in a tenant or a key can make one name another. An entry that
/// expired leaves its key in the index until a list or a sweep meets it.
struct RedisKeys {
  std::string prefix;

  [[nodiscard]] std::string entry(std::string_view tenant, std::string_view key) const;
  /// What the names of all of a tenant's entries begin with.
  [[nodiscard]] std::string entries(std::string_view tenant) const;
  [[nodiscard]] std::string index(std::string_view tenant) const;
  [[nodiscard]] std::string expiries() const { return prefix + 'x'; }
  [[nodiscard]] std::string counter() const { return prefix + 'n'; }
};

/// The scripts, each atomic. Data, so that a test can take a protection out and that other tools
/// can run the very same.
struct RedisScripts {
  /// KEYS: counter, index, expiries, and an entry for each write. ARGV: the version that the first
  /// entry must have, 0 for none, empty for any; then for each write value, ttl in ms or empty,
  /// key, place. The new versions, or nil where the entry has another.
  redis::Script write;
  /// KEYS: entry, index. ARGV: key. 1 where there was an entry.
  redis::Script erase;
  /// KEYS: index. ARGV: from and end as ZRANGEBYLEX wants them, limit, what entries begin with.
  /// (how many keys of the index were looked at, the last of them, (key, version, ...))
  redis::Script list;
  /// KEYS: expiries. ARGV: limit, prefix. (places looked at, entries gone)
  redis::Script sweep;
};

[[nodiscard]] RedisScripts redis_scripts();

}  // namespace plimsoll::kv
