#include "lib/store_sql/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace plimsoll::store {
namespace {

tl::unexpected<Error> missing(std::int64_t id) {
  return fail(Errc::kNotFound, fmt::format("there is no item {}", id));
}

Result<Content> content_of(const pg::Rows& rows, std::int64_t id) {
  if (rows.empty()) return missing(id);
  const auto amount = rows.integer(0, 0);
  if (!amount) return fail(Errc::kProtocol, amount.error().message);
  return Content(*amount, std::string(rows.text(0, 1)));
}

Result<std::int64_t> id_of(const pg::Rows& rows) {
  auto id = rows.integer(0, 0);
  if (!id) return fail(Errc::kProtocol, std::move(id.error().message));
  return *id;
}

// The first error of a pipeline: those behind it only say that there was one.
const Error* error_among(const std::vector<Result<pg::Rows>>& results) {
  const auto failed =
      std::ranges::find_if(results, [](const auto& result) { return !result.has_value(); });
  return failed == results.end() ? nullptr : &failed->error();
}

// Positions in the order of ids; equal ids in the order given.
std::vector<std::size_t> by_id(const std::vector<Change>& changes) {
  std::vector<std::size_t> order(changes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return changes[i].id; });
  return order;
}

// Fills chunks from `next`, which waits for nothing.
pg::CopySource source_of(std::function<bool(Copied&)> next) {
  return [next = std::move(next)](pg::CopyWriter& writer) -> asio::awaitable<Result<bool>> {
    Copied item;
    bool more = true;
    while (more && !writer.is_full()) {
      more = next(item);
      if (more) writer.row().int8(item.id).int8(item.amount).text(item.body);
    }
    co_return more;
  };
}

Result<void> hand_out(const pg::CopyRows& rows, const std::function<void(const Copied&)>& take) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto id = rows.integer(row, 0);
    const auto amount = rows.integer(row, 1);
    const auto body = rows.text(row, 2);
    if (!id || !amount || !body) {
      const auto& error = !id ? id.error() : !amount ? amount.error() : body.error();
      return fail(Errc::kCorrupt, error.message);
    }
    take(Copied{*id, *amount, *body});
  }
  return {};
}

pg::CopySink sink_of(std::function<void(const Copied&)> take) {
  return [take = std::move(take)](const pg::CopyRows& rows) -> asio::awaitable<Result<void>> {
    co_return hand_out(rows, take);
  };
}

}  // namespace

Result<Store> Store::make(std::string_view schema, Prepared prepared) {
  auto statements = statements_for(schema, prepared);
  if (!statements) return fail(std::move(statements.error()));
  return Store(std::move(*statements));
}

asio::awaitable<Result<void>> Store::install(pg::Connection& connection) const {
  Result<void> done = co_await connection.script(statements_.ddl);
  co_return done;
}

pg::Query Store::insertion(Content content) const {
  return statements_.insert.with(pg::params(content.amount, std::move(content.body)));
}

pg::Query Store::selection(std::int64_t id) const { return statements_.read.with(pg::params(id)); }

pg::Query Store::addition(const Change& change) const {
  return statements_.update.with(pg::params(change.id, change.delta));
}

asio::awaitable<Result<std::int64_t>> Store::insert(pg::Connection& connection,
                                                    Content content) const {
  Result<pg::Rows> rows = co_await connection.query(insertion(std::move(content)));
  if (!rows) co_return fail(std::move(rows.error()));
  co_return id_of(*rows);
}

asio::awaitable<Result<std::vector<std::int64_t>>> Store::insert_all(
    pg::Connection& connection, std::vector<Content> contents) const {
  std::vector<pg::Query> queries;
  queries.reserve(contents.size());
  for (auto& content : contents) queries.push_back(insertion(std::move(content)));
  std::vector<Result<pg::Rows>> results = co_await connection.pipeline(std::move(queries));
  if (const Error* error = error_among(results)) co_return fail(*error);
  std::vector<std::int64_t> ids;
  ids.reserve(results.size());
  for (const auto& rows : results) {
    auto id = id_of(*rows);
    if (!id) co_return fail(std::move(id.error()));
    ids.push_back(*id);
  }
  co_return ids;
}

asio::awaitable<Result<void>> Store::update(pg::Connection& connection, Change change) const {
  Result<pg::Rows> rows = co_await connection.query(addition(change));
  if (!rows) co_return fail(std::move(rows.error()));
  if (rows->affected() == 0) co_return missing(change.id);
  co_return Result<void>{};
}

asio::awaitable<Result<std::size_t>> Store::update_all(pg::Connection& connection,
                                                       std::vector<Change> changes) const {
  std::ranges::stable_sort(changes, {}, &Change::id);
  std::vector<pg::Query> queries;
  queries.reserve(changes.size());
  for (const Change& change : changes) queries.push_back(addition(change));
  std::vector<Result<pg::Rows>> results = co_await connection.pipeline(std::move(queries));
  if (const Error* error = error_among(results)) co_return fail(*error);
  std::size_t found = 0;
  for (const auto& rows : results) found += rows->affected();
  co_return found;
}

asio::awaitable<Result<Content>> Store::read(pg::Connection& connection, std::int64_t id) const {
  Result<pg::Rows> rows = co_await connection.query(selection(id));
  if (!rows) co_return fail(std::move(rows.error()));
  co_return content_of(*rows, id);
}

asio::awaitable<Result<Content>> Store::read_then_update(pg::Connection& connection,
                                                         Change change) const {
  Result<Content> content = co_await read(connection, change.id);
  if (!content) co_return content;
  Result<void> updated = co_await update(connection, change);
  if (!updated) co_return fail(std::move(updated.error()));
  co_return content;
}

asio::awaitable<Result<std::vector<std::optional<Content>>>> Store::read_and_update_all(
    pg::Connection& connection, std::vector<Change> changes) const {
  const auto order = by_id(changes);
  std::vector<pg::Query> queries;
  queries.reserve(2 * changes.size());
  for (const std::size_t i : order) {
    queries.push_back(selection(changes[i].id));
    queries.push_back(addition(changes[i]));
  }
  std::vector<Result<pg::Rows>> results = co_await connection.pipeline(std::move(queries));
  if (const Error* error = error_among(results)) co_return fail(*error);
  std::vector<std::optional<Content>> contents(changes.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    auto content = content_of(*results[2 * place], changes[order[place]].id);
    if (content) {
      contents[order[place]] = std::move(*content);
    } else if (content.error().code != Errc::kNotFound) {
      co_return fail(std::move(content.error()));
    }
  }
  co_return contents;
}

asio::awaitable<Result<std::uint64_t>> Store::copy_in(pg::Copier& copier,
                                                      std::function<bool(Copied&)> next,
                                                      pg::CopyFormat format) const {
  return copier.copy_in(copies(format).in, source_of(std::move(next)));
}

asio::awaitable<Result<std::uint64_t>> Store::copy_out(pg::Copier& copier,
                                                       std::function<void(const Copied&)> take,
                                                       pg::CopyFormat format) const {
  return copier.copy_out(copies(format).out, sink_of(std::move(take)));
}

}  // namespace plimsoll::store
