#include "lib/kv_store/postgres_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/kv_store/place.hpp"
#include "lib/kv_store/writers.hpp"
#include "lib/pg/array.hpp"

namespace plimsoll::kv {
namespace {

pg::GroupCommitConfig commit_config(pg::GroupCommitConfig config, pg::SameKey same_key) {
  config.batch.same_key = same_key;
  config.batch.max_items =
      std::min(config.batch.max_items, static_cast<std::size_t>(kVersionsOfAWrite));
  return config;
}

tl::unexpected<Error> unreadable(const Error& error) {
  return fail(Errc::kProtocol, "kv: the server's answer cannot be read: " + error.message);
}

Result<std::optional<Entry>> entry_of(const pg::Rows& rows) {
  if (rows.empty()) return std::optional<Entry>();
  const auto version = rows.integer(0, 1);
  if (!version) return unreadable(version.error());
  return std::optional<Entry>(std::in_place, std::string(rows.text(0, 0)), *version);
}

/// Of rows (ordinal, version), by ordinal.
Result<std::vector<Version>> versions_of(const pg::Rows& rows, std::size_t count) {
  if (rows.size() != count) {
    return fail(Errc::kProtocol, fmt::format("kv: the server answers with {} rows to {} writes",
                                             rows.size(), count));
  }
  std::vector<Version> versions(count);
  for (std::size_t row = 0; row < count; ++row) {
    const auto ordinal = rows.integer(row, 0);
    const auto version = rows.integer(row, 1);
    if (!ordinal) return unreadable(ordinal.error());
    if (!version) return unreadable(version.error());
    const auto place = static_cast<std::size_t>(*ordinal) - 1;
    if (place >= count) return fail(Errc::kProtocol, "kv: the server answers a write not sent");
    versions[place] = *version;
  }
  return versions;
}

}  // namespace

PostgresStore::PostgresStore(asio::any_io_executor executor, PostgresConfig config,
                             Statements statements)
    : statements_(std::make_shared<const Statements>(std::move(statements))),
      commits_(std::make_shared<Link>(executor, config.connection, statements_->durability,
                                      config.allow_weak_durability)),
      bulk_(std::make_shared<Link>(executor, config.connection, statements_->durability,
                                   config.allow_weak_durability)),
      sets_(executor, set_writer(statements_), {Link::lane(commits_)},
            commit_config(config.commit, pg::SameKey::kFold)),
      swaps_(executor, swap_writer(statements_), {Link::lane(commits_)},
             commit_config(config.commit, pg::SameKey::kNextBatch)),
      erases_(executor, erase_writer(statements_), {Link::lane(commits_)},
              commit_config(config.commit, pg::SameKey::kKeep)) {
  for (std::size_t i = 0; i < config.readers; ++i) {
    // What is read was committed, whatever this session's own commits would promise.
    readers_.push_back(
        std::make_shared<Link>(executor, config.connection, statements_->durability, true));
  }
}

PostgresStore::~PostgresStore() {
  sets_.close();
  swaps_.close();
  erases_.close();
  for (const auto& link : readers_) link->close();
  commits_->close();
  bulk_->close();
}

Result<std::unique_ptr<PostgresStore>> PostgresStore::make(asio::any_io_executor executor,
                                                           PostgresConfig config) {
  auto statements =
      statements_for(config.schema, config.connection.pooled ? Prepared::kNever : Prepared::kOnce);
  if (!statements) return fail(std::move(statements.error()));
  return make(std::move(executor), std::move(config), std::move(*statements));
}

Result<std::unique_ptr<PostgresStore>> PostgresStore::make(asio::any_io_executor executor,
                                                           PostgresConfig config,
                                                           Statements statements) {
  if (config.readers == 0) {
    return fail(Errc::kInvalidArgument, "kv: a store without readers cannot read; give it 1");
  }
  return std::unique_ptr<PostgresStore>(
      new PostgresStore(std::move(executor), std::move(config), std::move(statements)));
}

asio::awaitable<Result<void>> PostgresStore::install() {
  Result<void> done = co_await Link::script(bulk_, statements_->ddl);
  co_return done;
}

asio::awaitable<Result<void>> PostgresStore::drain(std::chrono::milliseconds limit) {
  Result<void> sets = co_await sets_.drain(limit);
  Result<void> swaps = co_await swaps_.drain(limit);
  Result<void> erases = co_await erases_.drain(limit);
  if (!sets) co_return sets;
  if (!swaps) co_return swaps;
  co_return erases;
}

std::shared_ptr<Link> PostgresStore::reader() noexcept {
  next_reader_ = next_reader_ + 1 < readers_.size() ? next_reader_ + 1 : 0;
  return readers_[next_reader_];
}

asio::awaitable<Result<std::optional<Entry>>> PostgresStore::do_get(std::string tenant,
                                                                    std::string key) {
  pg::Query query = statements_->get.with(pg::params(std::move(tenant), std::move(key)));
  Result<pg::Rows> rows = co_await Link::query(reader(), std::move(query));
  if (!rows) co_return fail(std::move(rows.error()));
  co_return entry_of(*rows);
}

asio::awaitable<Result<std::vector<std::optional<Entry>>>> PostgresStore::do_get_all(
    std::string tenant, std::vector<std::string> keys) {
  pg::ArrayText array;
  for (const std::string& key : keys) array.add(key);
  pg::Query query = statements_->get_all.with(pg::params(std::move(tenant), array.take()));
  Result<pg::Rows> rows = co_await Link::query(reader(), std::move(query));
  if (!rows) co_return fail(std::move(rows.error()));
  std::unordered_map<std::string_view, std::size_t> row_of;
  for (std::size_t row = 0; row < rows->size(); ++row) row_of.emplace(rows->text(row, 0), row);
  std::vector<std::optional<Entry>> entries(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = row_of.find(keys[i]);
    if (found == row_of.end()) continue;
    const auto version = rows->integer(found->second, 2);
    if (!version) co_return unreadable(version.error());
    entries[i].emplace(std::string(rows->text(found->second, 1)), *version);
  }
  co_return entries;
}

asio::awaitable<Result<Version>> PostgresStore::do_set(std::string tenant, Write write) {
  pg::BatchItem item = set_item(std::move(tenant), std::move(write));
  Result<pg::BatchAnswer> answer = co_await sets_.submit(std::move(item));
  if (!answer) co_return fail(std::move(answer.error()));
  const auto version = answer->integer(1);
  if (!version) co_return unreadable(version.error());
  co_return *version - static_cast<Version>(answer->newer());
}

asio::awaitable<Result<std::vector<Version>>> PostgresStore::do_set_all(std::string tenant,
                                                                        std::vector<Write> writes) {
  Folded folded = fold_writes(tenant, std::move(writes));
  const std::size_t slots = folded.slots;
  pg::Query query = statements_->set_many.with(std::move(folded.params));
  Result<pg::Rows> rows = co_await Link::query(bulk_, std::move(query));
  if (!rows) co_return fail(std::move(rows.error()));
  const auto of_slot = versions_of(*rows, slots);
  if (!of_slot) co_return fail(of_slot.error());
  std::vector<Version> versions;
  versions.reserve(folded.slot_of.size());
  for (std::size_t i = 0; i < folded.slot_of.size(); ++i) {
    versions.push_back((*of_slot)[folded.slot_of[i]] - static_cast<Version>(folded.newer_of[i]));
  }
  co_return versions;
}

asio::awaitable<Result<Version>> PostgresStore::do_compare_and_set(std::string tenant, Write write,
                                                                   Version expected) {
  const std::string key = write.key;
  pg::BatchItem item = swap_item(std::move(tenant), std::move(write), expected);
  Result<pg::BatchAnswer> answer = co_await swaps_.submit(std::move(item));
  if (!answer) co_return fail(std::move(answer.error()));
  if (!answer->has_row()) co_return fail(conflict(key, expected));
  const auto version = answer->integer(0);
  if (!version) co_return unreadable(version.error());
  co_return *version;
}

asio::awaitable<Result<bool>> PostgresStore::do_erase(std::string tenant, std::string key) {
  pg::BatchItem item = erase_item(std::move(tenant), std::move(key));
  Result<pg::BatchAnswer> answer = co_await erases_.submit(std::move(item));
  if (!answer) co_return fail(std::move(answer.error()));
  co_return answer->value(0) == "t";
}

asio::awaitable<Result<Store::Found>> PostgresStore::do_list(std::string tenant, Range range) {
  pg::Query query = statements_->list.with(
      pg::params(std::move(tenant), std::move(range.from), std::move(range.end), range.limit));
  Result<pg::Rows> rows = co_await Link::query(reader(), std::move(query));
  if (!rows) co_return fail(std::move(rows.error()));
  Found found;
  found.entries.reserve(rows->size());
  for (std::size_t row = 0; row < rows->size(); ++row) {
    const auto version = rows->integer(row, 1);
    if (!version) co_return unreadable(version.error());
    found.entries.emplace_back(std::string(rows->text(row, 0)), *version);
  }
  if (found.entries.size() == range.limit) found.more_after = found.entries.back().key;
  co_return found;
}

asio::awaitable<Result<std::size_t>> PostgresStore::do_sweep(std::size_t limit) {
  pg::Query query = statements_->sweep.with(pg::params(limit));
  Result<pg::Rows> rows = co_await Link::query(bulk_, std::move(query));
  if (!rows) co_return fail(std::move(rows.error()));
  co_return static_cast<std::size_t>(rows->affected());
}

pg::Counters PostgresStore::counters() const noexcept {
  pg::Counters total = commits_->counters();
  total += bulk_->counters();
  for (const auto& link : readers_) total += link->counters();
  return total;
}

pg::BatchCounters PostgresStore::batches() const noexcept {
  pg::BatchCounters total = sets_.counters();
  total += swaps_.counters();
  total += erases_.counters();
  return total;
}

std::uint64_t PostgresStore::connections() const noexcept {
  std::uint64_t total = commits_->connections() + bulk_->connections();
  for (const auto& link : readers_) total += link->connections();
  return total;
}

}  // namespace plimsoll::kv
