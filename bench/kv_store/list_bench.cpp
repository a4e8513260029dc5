// Question: what does it cost to list a tenant's keys by prefix, page by page?
// Method:   one caller; 2,000 keys of a tenant in one page, beside another tenant's as many; at
// full
//           size also 1,000,000 keys in pages of 10,000, each with the cursor of the one before.
//           The keys are counted, and are in order.
// Expect:   a range of the primary key, or of the tenant's index: by the key, not by the table.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/kv_store/caller.hpp"
#include "bench/kv_store/cases.hpp"

namespace plimsoll::bench {
namespace {

struct Listing {
  std::unique_ptr<Stage> stage;
  std::unique_ptr<Caller> caller;
};

/// Once a process for each case: Google Benchmark calls a body several times to find its pace.
Result<Listing*> listing_of(const std::string& name, Subject subject, const Stock& stock) {
  static std::map<std::string, Listing> all;
  Listing& listing = all[name];
  if (listing.caller) return &listing;
  auto stage = make_stage(subject, stock);
  if (!stage) return fail(stage.error());
  listing.stage = std::move(*stage);
  auto caller = Caller::open(*listing.stage);
  if (!caller) return fail(caller.error());
  listing.caller = std::move(*caller);
  return &listing;
}

/// All keys of the tenant with the prefix; their number, where they are in order.
asio::awaitable<Result<std::size_t>> list_all(kv::Store& store, std::size_t page_size) {
  std::size_t count = 0;
  std::string cursor;
  std::string last;
  do {
    Result<kv::Page> page = co_await store.list("1", "1", page_size, cursor);
    if (!page) co_return fail(std::move(page.error()));
    for (const kv::Listed& entry : page->entries) {
      if (entry.key <= last) co_return fail(Errc::kInternal, "wrong: keys out of order");
      last = entry.key;
    }
    count += page->entries.size();
    cursor = std::move(page->cursor);
  } while (!cursor.empty());
  co_return count;
}

void run_list(Case& c, Subject subject, const Stock& stock, std::size_t page_size) {
  const auto listing = listing_of(c.name(), subject, stock);
  if (!listing) return c.fail(listing.error());
  Caller& caller = *(*listing)->caller;
  for (auto _ : c.state()) {
    const auto count = caller.run(list_all(caller.store(), page_size));
    if (!count) return c.fail(count.error());
    if (*count != stock.keys) {
      return c.fail(fmt::format("wrong: {} keys were listed, there are {}", *count, stock.keys));
    }
  }
  c.state().SetItemsProcessed(c.state().iterations() * static_cast<std::int64_t>(stock.keys));
}

void add(Subject subject, std::size_t keys) {
  const Stock stock{2, keys, 32};
  // One more than there are, so that the first page says that it is the last.
  const std::size_t page_size = std::min<std::size_t>(keys + 1, kv::kMaxPage);
  cpu_case(fmt::format("{}/{}/list/keys:{}", kGroup, name(subject), keys),
           [subject, stock, page_size](Case& c) { run_list(c, subject, stock, page_size); },
           {Resource::kDb, true});
}

}  // namespace

void register_list_cases() {
  for (const Subject subject : {Subject::kPostgres, Subject::kRedis}) {
    add(subject, scaled<std::size_t>(200, 2000, 2000));
    if (size() == Size::kFull) add(subject, 1'000'000);
  }
}

}  // namespace plimsoll::bench
