#include "lib/kv_store/link.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/core/with_timeout.hpp"

namespace plimsoll::kv {
namespace {

Error closed() {
  Error error{Errc::kUnavailable, "kv: the store was closed by its owner; nothing was sent", {}};
  error.unsent = true;
  return error;
}

Result<void> check_durable(const pg::Rows& rows) {
  if (rows.size() != 1 || rows.columns() != 2) {
    return fail(Errc::kProtocol, "kv: no answer to the question what a commit promises");
  }
  if (rows.text(0, 0) == "on" && rows.text(0, 1) != "off") return {};
  return fail(Errc::kRefused,
              fmt::format("kv: the server acknowledges what is not on disk (fsync = {}, "
                          "synchronous_commit = {}); set both to on, for the role or in the dsn's "
                          "options, or allow it by PostgresConfig::allow_weak_durability",
                          rows.text(0, 0), rows.text(0, 1)));
}

}  // namespace

Link::Link(asio::any_io_executor executor, pg::Config config, Statement durability,
           bool may_be_weak)
    : executor_(std::move(executor)),
      config_(std::move(config)),
      durability_(std::move(durability)),
      may_be_weak_(may_be_weak) {}

void Link::retire() {
  if (connection_ == nullptr) return;
  retired_ += connection_->counters();
  connection_.reset();
}

void Link::close() {
  is_closed_ = true;
  if (connection_ != nullptr) connection_->close();
  retire();
}

pg::Counters Link::counters() const noexcept {
  pg::Counters total = retired_;
  if (connection_ != nullptr) total += connection_->counters();
  return total;
}

asio::awaitable<Result<Link::ConnectionPtr>> Link::acquire(std::shared_ptr<Link> self) {
  if (self->is_closed_) co_return fail(closed());
  if (self->connection_ != nullptr && self->connection_->is_open()) co_return self->connection_;
  if (self->is_connecting_) {
    const auto turn = std::make_shared<asio::steady_timer>(self->executor_, TimePoint::max());
    self->waiting_.push_back(turn);
    [[maybe_unused]] const auto waited = co_await turn->async_wait(kAsValue);
    std::erase(self->waiting_, turn);
    if (self->connection_ != nullptr && self->connection_->is_open()) co_return self->connection_;
    Error error = self->is_closed_ ? closed() : self->last_error_.value_or(closed());
    co_return fail(std::move(error));
  }
  if (self->last_error_ && Clock::now() < self->not_before_) co_return fail(*self->last_error_);
  self->is_connecting_ = true;
  Result<ConnectionPtr> connection = co_await connect(self);
  self->is_connecting_ = false;
  if (connection) {
    self->last_error_.reset();
  } else {
    connection.error().unsent = true;
    self->last_error_ = connection.error();
    self->not_before_ = Clock::now() + kPause;
  }
  for (const auto& turn : self->waiting_) turn->cancel();
  co_return connection;
}

asio::awaitable<Result<Link::ConnectionPtr>> Link::connect(std::shared_ptr<Link> self) {
  self->retire();
  Result<std::unique_ptr<pg::Connection>> made = co_await pg::Connection::connect(self->config_);
  if (!made) co_return fail(std::move(made.error()));
  ConnectionPtr connection = std::move(*made);
  if (!self->may_be_weak_) {
    pg::Query question = self->durability_.with({});
    Result<pg::Rows> rows = co_await connection->query(std::move(question));
    if (!rows) co_return fail(std::move(rows.error()));
    if (auto weak = check_durable(*rows); !weak) co_return fail(std::move(weak.error()));
  }
  if (self->is_closed_) co_return fail(closed());
  self->connection_ = connection;
  ++self->connections_;
  co_return connection;
}

asio::awaitable<Result<pg::Rows>> Link::query(std::shared_ptr<Link> self, pg::Query query) {
  Result<ConnectionPtr> connection = co_await acquire(self);
  if (!connection) co_return fail(std::move(connection.error()));
  Result<pg::Rows> rows = co_await (*connection)->query(std::move(query));
  co_return rows;
}

asio::awaitable<Result<void>> Link::script(std::shared_ptr<Link> self, std::string sql) {
  Result<ConnectionPtr> connection = co_await acquire(self);
  if (!connection) co_return fail(std::move(connection.error()));
  Result<void> done = co_await (*connection)->script(std::move(sql));
  co_return done;
}

asio::awaitable<pg::LaneAnswer> Link::send(std::shared_ptr<Link> self,
                                           std::vector<pg::Query> queries,
                                           std::chrono::milliseconds limit) {
  const std::size_t count = queries.size();
  Result<ConnectionPtr> connection = co_await acquire(self);
  if (!connection) {
    std::vector<Result<pg::Rows>> refused;
    for (std::size_t i = 0; i < count; ++i) refused.emplace_back(fail(connection.error()));
    co_return pg::LaneAnswer(std::move(refused), false);
  }
  std::vector<Result<pg::Rows>> results =
      co_await (*connection)->pipeline(std::move(queries), limit);
  co_return pg::LaneAnswer(std::move(results), true);
}

pg::BatchLane Link::lane(std::shared_ptr<Link> self) {
  return [self = std::move(self)](std::vector<pg::Query> queries, std::chrono::milliseconds limit) {
    return send(self, std::move(queries), limit);
  };
}

}  // namespace plimsoll::kv
