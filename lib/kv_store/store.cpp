#include "lib/kv_store/store.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/kv_store/checks.hpp"
#include "lib/kv_store/cursor.hpp"
#include "lib/kv_store/range.hpp"

namespace plimsoll::kv {
namespace {

template <class T>
asio::awaitable<Result<T>> refused(Error error) {
  co_return fail(std::move(error));
}

/// The first that is not well.
template <class... Checks>
Result<void> all_of(Checks... checks) {
  Result<void> found;
  (void)((found = std::move(checks), found.has_value()) && ...);
  return found;
}

}  // namespace

asio::awaitable<Result<std::optional<Entry>>> Store::get(std::string tenant, std::string key) {
  if (auto bad = all_of(check_tenant("get", tenant), check_key("get", key)); !bad) {
    return refused<std::optional<Entry>>(std::move(bad.error()));
  }
  return do_get(std::move(tenant), std::move(key));
}

asio::awaitable<Result<std::vector<std::optional<Entry>>>> Store::get_all(
    std::string tenant, std::vector<std::string> keys) {
  if (auto bad = all_of(check_tenant("get_all", tenant), check_keys("get_all", keys)); !bad) {
    return refused<std::vector<std::optional<Entry>>>(std::move(bad.error()));
  }
  return do_get_all(std::move(tenant), std::move(keys));
}

asio::awaitable<Result<Version>> Store::set(std::string tenant, Write write) {
  if (auto bad = all_of(check_tenant("set", tenant), check_write("set", write)); !bad) {
    return refused<Version>(std::move(bad.error()));
  }
  return do_set(std::move(tenant), std::move(write));
}

asio::awaitable<Result<std::vector<Version>>> Store::set_all(std::string tenant,
                                                             std::vector<Write> writes) {
  if (auto bad = all_of(check_tenant("set_all", tenant), check_writes("set_all", writes)); !bad) {
    return refused<std::vector<Version>>(std::move(bad.error()));
  }
  return do_set_all(std::move(tenant), std::move(writes));
}

asio::awaitable<Result<Version>> Store::compare_and_set(std::string tenant, Write write,
                                                        Version expected) {
  constexpr std::string_view kWhat = "compare_and_set";
  if (auto bad = all_of(check_tenant(kWhat, tenant), check_write(kWhat, write),
                        check_expected(kWhat, expected));
      !bad) {
    return refused<Version>(std::move(bad.error()));
  }
  return do_compare_and_set(std::move(tenant), std::move(write), expected);
}

asio::awaitable<Result<bool>> Store::erase(std::string tenant, std::string key) {
  if (auto bad = all_of(check_tenant("erase", tenant), check_key("erase", key)); !bad) {
    return refused<bool>(std::move(bad.error()));
  }
  return do_erase(std::move(tenant), std::move(key));
}

asio::awaitable<Result<Page>> Store::list(std::string tenant, std::string prefix, std::size_t limit,
                                          std::string cursor) {
  if (auto bad = all_of(check_tenant("list", tenant), check_prefix("list", prefix),
                        check_limit("list", limit));
      !bad) {
    return refused<Page>(std::move(bad.error()));
  }
  Range range{prefix, end_of_prefix(prefix), limit};
  if (!cursor.empty()) {
    const auto last = decode_cursor(cursor, tenant, prefix);
    if (!last) return refused<Page>(last.error());
    range.from = just_behind(*last);
  }
  return list_checked(std::move(tenant), std::move(prefix), std::move(range));
}

asio::awaitable<Result<Page>> Store::list_checked(std::string tenant, std::string prefix,
                                                  Range range) {
  Result<Found> found = co_await do_list(tenant, std::move(range));
  if (!found) co_return fail(std::move(found.error()));
  Page page;
  page.entries = std::move(found->entries);
  if (found->more_after) page.cursor = encode_cursor(tenant, prefix, *found->more_after);
  co_return page;
}

asio::awaitable<Result<std::size_t>> Store::sweep(std::size_t limit) {
  if (auto bad = check_limit("sweep", limit); !bad) {
    return refused<std::size_t>(std::move(bad.error()));
  }
  return do_sweep(limit);
}

Error conflict(std::string_view key, Version expected) {
  return {Errc::kConflict,
          expected == kAbsent
              ? fmt::format("kv compare_and_set: the key '{}' has an entry already", key)
              : fmt::format("kv compare_and_set: the entry of '{}' is not at version {} any more",
                            key, expected),
          {}};
}

}  // namespace plimsoll::kv
