#include "bench/store_sql/acts.hpp"

#include <fmt/format.h>

#include <vector>

namespace plimsoll::bench {
namespace {

constexpr std::int64_t kDelta = 1;   // Of one update.
constexpr std::int64_t kAmount = 3;  // Of one insert.

}  // namespace

std::string_view name(Act act) noexcept {
  switch (act) {
    case Act::kInsert:
      return "insert";
    case Act::kUpdate:
      return "update";
    case Act::kMixed:
      return "mixed";
  }
  return "unknown";
}

Acts::Acts(const Stage& stage, const store::Store& store, pg::Connection& connection, Task task,
           Rng draw)
    : stage_(stage), store_(store), connection_(connection), task_(task), draw_(draw) {}

// The parts of a pipeline go to stretches of the table of their own, in order. (pgbench's script
// does the same: its statements could not be sorted afterwards, and would deadlock.)
store::Change Acts::change(std::size_t part) {
  const auto stretch = static_cast<std::uint64_t>(stage_.stock().items) / task_.depth;
  const auto id = part * stretch + draw_.below(stretch) + 1;
  return {static_cast<std::int64_t>(id), kDelta};
}

Result<void> Acts::right(const store::Content& content) const {
  if (content.body == stage_.body()) return {};
  return fail(Errc::kInternal,
              fmt::format("wrong: a body of {} bytes was read where {} were stored",
                          content.body.size(), stage_.body().size()));
}

asio::awaitable<Result<void>> Acts::step() {
  Result<void> done;
  if (task_.depth == 1) {
    done = co_await one();
  } else {
    done = co_await many();
  }
  if (!done) co_return done;
  const auto parts = static_cast<std::int64_t>(task_.depth);
  if (task_.act == Act::kInsert) rows_ += parts;
  amounts_ += parts * (task_.act == Act::kInsert ? kAmount : kDelta);
  co_return done;
}

asio::awaitable<Result<void>> Acts::one() {
  if (task_.act == Act::kInsert) {
    Result<std::int64_t> id =
        co_await store_.insert(connection_, store::Content(kAmount, stage_.body()));
    if (!id) co_return fail(std::move(id.error()));
    co_return Result<void>{};
  }
  if (task_.act == Act::kUpdate) {
    Result<void> updated = co_await store_.update(connection_, change(0));
    co_return updated;
  }
  Result<store::Content> content = co_await store_.read_then_update(connection_, change(0));
  if (!content) co_return fail(std::move(content.error()));
  co_return right(*content);
}

asio::awaitable<Result<void>> Acts::many() {
  if (task_.act == Act::kInsert) {
    std::vector<store::Content> contents(task_.depth, store::Content(kAmount, stage_.body()));
    Result<std::vector<std::int64_t>> ids =
        co_await store_.insert_all(connection_, std::move(contents));
    if (!ids) co_return fail(std::move(ids.error()));
    co_return Result<void>{};
  }
  std::vector<store::Change> changes;
  for (std::size_t part = 0; part < task_.depth; ++part) changes.push_back(change(part));
  if (task_.act == Act::kUpdate) {
    Result<std::size_t> found = co_await store_.update_all(connection_, std::move(changes));
    if (!found) co_return fail(std::move(found.error()));
    if (*found == task_.depth) co_return Result<void>{};
    co_return fail(Errc::kInternal,
                   fmt::format("wrong: {} of {} items were found", *found, task_.depth));
  }
  Result<std::vector<std::optional<store::Content>>> contents =
      co_await store_.read_and_update_all(connection_, std::move(changes));
  if (!contents) co_return fail(std::move(contents.error()));
  for (const auto& content : *contents) {
    if (!content) co_return fail(Errc::kInternal, "wrong: an item of the stock was not found");
    if (auto checked = right(*content); !checked) co_return checked;
  }
  co_return Result<void>{};
}

Result<std::unique_ptr<Caller>> Caller::connect(const std::string& dsn) {
  auto caller = std::make_unique<Caller>();
  auto connection = caller->run(pg::Connection::connect(pg::Config(dsn)));
  if (!connection) return fail(connection.error());
  caller->connection_ = std::move(*connection);
  return caller;
}

}  // namespace plimsoll::bench
