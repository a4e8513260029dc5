#include "bench/store_sql/crew.hpp"

#include <string>
#include <utility>

namespace plimsoll::bench {

Crew::Crew(const Stage& stage, Task task, load::SubjectThread& thread, store::Store store)
    : stage_(stage), task_(task), thread_(thread), store_(std::move(store)) {}

Result<std::unique_ptr<Crew>> Crew::hire(const Stage& stage, Task task, std::size_t callers,
                                         load::SubjectThread& thread) {
  const bool pooled = stage.connection().pooled;
  auto store =
      store::Store::make(stage.schema(), pooled ? store::Prepared::kNever : store::Prepared::kOnce);
  if (!store) return fail(store.error());
  std::unique_ptr<Crew> crew(new Crew(stage, task, thread, std::move(*store)));
  if (auto connected = thread.call(crew->connect(callers)); !connected) {
    return fail(connected.error());
  }
  return crew;
}

Crew::~Crew() { (void)thread_.call(disconnect()); }

asio::awaitable<Result<void>> Crew::connect(std::size_t callers) {
  const Rng draw(seed());
  for (std::size_t caller = 0; caller < callers; ++caller) {
    Result<std::unique_ptr<pg::Connection>> connection =
        co_await pg::Connection::connect(stage_.connection());
    if (!connection) co_return fail(connection.error());
    connections_.push_back(std::move(*connection));
    acts_.push_back(
        std::make_unique<Acts>(stage_, store_, *connections_.back(), task_, draw.fork(caller)));
  }
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Crew::disconnect() {
  connections_.clear();
  co_return Result<void>{};
}

asio::awaitable<load::Outcome> Crew::turn(load::OpContext context) {
  Result<void> done = co_await acts_[context.caller % acts_.size()]->step();
  if (!done) co_return load::outcome_of(done.error());
  co_return load::Outcome{load::Outcome::Kind::kOk, task_.depth, {}};
}

std::int64_t Crew::rows() const noexcept {
  std::int64_t total = 0;
  for (const auto& acts : acts_) total += acts->rows();
  return total;
}

std::int64_t Crew::amounts() const noexcept {
  std::int64_t total = 0;
  for (const auto& acts : acts_) total += acts->amounts();
  return total;
}

}  // namespace plimsoll::bench
