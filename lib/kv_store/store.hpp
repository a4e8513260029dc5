#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/kv_store/types.hpp"

namespace plimsoll::kv {

namespace asio = boost::asio;

/// Values under keys, each tenant's apart: the one interface of all subjects. What an
/// acknowledgement promises differs and stands at each (postgres_store.hpp, redis_store.hpp).
///
/// A tenant cannot name another's key, whatever bytes its own keys hold. An entry whose ttl is over
/// is absent for every call at once, also while it still lies on the disk.
///
/// Thread safety: none; all calls on the store's executor, by coroutines that run on it.
/// REQUIRES: the store outlives every call.
/// Errors: kInvalidArgument for what breaks a limit of types.hpp, found before anything is sent, so
/// that it concerns this caller alone; and the subject's. After kUnavailable, kTimeout or
/// kCancelled a write may have been done, unless `Error::unsent` says otherwise: read before trying
/// again.
class Store {
 public:
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// "postgres" or "redis", as in the names of the cases.
  [[nodiscard]] virtual std::string_view subject() const noexcept = 0;

  /// The entry; nullopt where there is none. One round trip.
  [[nodiscard]] asio::awaitable<Result<std::optional<Entry>>> get(std::string tenant,
                                                                  std::string key);
  /// In the order of the keys, from one moment. The same key twice: the same answer twice.
  [[nodiscard]] asio::awaitable<Result<std::vector<std::optional<Entry>>>> get_all(
      std::string tenant, std::vector<std::string> keys);

  /// Stores, whatever was there. The new entry's version.
  [[nodiscard]] asio::awaitable<Result<Version>> set(std::string tenant, Write write);
  /// All or nothing, seen by others at one moment. The same key twice: as if written one after the
  /// other, so the last one stands, and each has a version of its own, in their order.
  [[nodiscard]] asio::awaitable<Result<std::vector<Version>>> set_all(std::string tenant,
                                                                      std::vector<Write> writes);
  /// Stores only where the entry's version is `expected`, or, for kAbsent, where there is none.
  /// Errors: kConflict otherwise; nothing was written then.
  [[nodiscard]] asio::awaitable<Result<Version>> compare_and_set(std::string tenant, Write write,
                                                                 Version expected);
  /// Whether there was an entry.
  [[nodiscard]] asio::awaitable<Result<bool>> erase(std::string tenant, std::string key);

  /// At most `limit` keys that begin with the prefix, in the order of bytes, from the cursor's
  /// place on. Keys that are there during the whole listing come exactly once. Nothing in a prefix
  /// is a pattern. Errors: kRefused for a cursor of another tenant or prefix.
  [[nodiscard]] asio::awaitable<Result<Page>> list(std::string tenant, std::string prefix,
                                                   std::size_t limit, std::string cursor = {});

  /// Removes what is left of at most `limit` entries, of any tenant, whose ttl is over. Returns how
  /// many. Nothing depends on it but space.
  [[nodiscard]] asio::awaitable<Result<std::size_t>> sweep(std::size_t limit);

 protected:
  Store() = default;

  /// The same, with arguments that were checked. `from` is the first key that belongs to the page.
  struct Range {
    std::string from;
    std::string end;  ///< The first that does not belong to the prefix any more.
    std::size_t limit = 0;
  };
  /// As Page, with the key after which the next page begins.
  struct Found {
    std::vector<Listed> entries;
    std::optional<std::string> more_after;
  };

 private:
  virtual asio::awaitable<Result<std::optional<Entry>>> do_get(std::string tenant,
                                                               std::string key) = 0;
  virtual asio::awaitable<Result<std::vector<std::optional<Entry>>>> do_get_all(
      std::string tenant, std::vector<std::string> keys) = 0;
  virtual asio::awaitable<Result<Version>> do_set(std::string tenant, Write write) = 0;
  virtual asio::awaitable<Result<std::vector<Version>>> do_set_all(std::string tenant,
                                                                   std::vector<Write> writes) = 0;
  virtual asio::awaitable<Result<Version>> do_compare_and_set(std::string tenant, Write write,
                                                              Version expected) = 0;
  virtual asio::awaitable<Result<bool>> do_erase(std::string tenant, std::string key) = 0;
  virtual asio::awaitable<Result<Found>> do_list(std::string tenant, Range range) = 0;
  virtual asio::awaitable<Result<std::size_t>> do_sweep(std::size_t limit) = 0;

  [[nodiscard]] asio::awaitable<Result<Page>> list_checked(std::string tenant, std::string prefix,
                                                           Range range);
};

/// The answer of a compare-and-set that found another version.
[[nodiscard]] Error conflict(std::string_view key, Version expected);

}  // namespace plimsoll::kv
