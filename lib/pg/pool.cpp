#include "lib/pg/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/core/units.hpp"
#include "lib/core/with_timeout.hpp"

namespace plimsoll::pg {

using std::chrono::milliseconds;

// Whoever waits gets what becomes free before anybody new: while there are waiters, no connection
// is idle and all places are taken. A place is a connection, or the right to make one.
class PoolState : public std::enable_shared_from_this<PoolState> {
 public:
  PoolState(asio::any_io_executor executor, PoolConfig config)
      : executor_(std::move(executor)), config_(std::move(config)) {}

  static asio::awaitable<Result<PooledConnection>> acquire(std::shared_ptr<PoolState> self,
                                                           milliseconds timeout);
  void give_back(std::unique_ptr<Connection> connection) noexcept;
  void close();

  [[nodiscard]] std::size_t taken() const noexcept {
    return idle_.size() + loans_.size() + being_made_;
  }
  [[nodiscard]] std::size_t idle() const noexcept { return idle_.size(); }
  [[nodiscard]] std::size_t waiters() const noexcept { return waiters_.size(); }
  [[nodiscard]] Counters counters() const noexcept;

 private:
  // The right to make a connection. Given up unused, it goes to the next waiter.
  class Place {
   public:
    explicit Place(std::shared_ptr<PoolState> pool) noexcept : pool_(std::move(pool)) {
      ++pool_->being_made_;
    }
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (pool_ == nullptr) return;
      --pool_->being_made_;
      pool_->pass_on_place();
    }
    void use() noexcept {
      --pool_->being_made_;
      pool_.reset();
    }

   private:
    std::shared_ptr<PoolState> pool_;
  };

  struct Waiter {
    explicit Waiter(const asio::any_io_executor& executor) : timer(executor) {}

    asio::steady_timer timer;
    // One of the two once it is served. A waiter that goes away unheard gives it back.
    PooledConnection loan;
    std::optional<Place> place;
    bool is_served = false;
  };
  using WaiterPtr = std::shared_ptr<Waiter>;

  static asio::awaitable<Result<PooledConnection>> make(std::shared_ptr<PoolState> self,
                                                        Place place, TimePoint deadline);
  static asio::awaitable<Result<PooledConnection>> wait(std::shared_ptr<PoolState> self,
                                                        TimePoint deadline, milliseconds timeout);
  PooledConnection lend(std::unique_ptr<Connection> connection);
  void pass_on_place() noexcept;
  WaiterPtr next_waiter() noexcept;
  void retire(std::unique_ptr<Connection> connection) noexcept;
  [[nodiscard]] tl::unexpected<Error> closed() const {
    return fail(Errc::kUnavailable, "the pool was closed by its owner");
  }

  asio::any_io_executor executor_;
  PoolConfig config_;
  std::deque<std::unique_ptr<Connection>> idle_;
  std::vector<const Connection*> loans_;
  std::deque<WaiterPtr> waiters_;
  std::size_t being_made_ = 0;
  Counters retired_;  // Of connections that are gone.
  bool is_closed_ = false;
};

asio::awaitable<Result<PooledConnection>> PoolState::acquire(std::shared_ptr<PoolState> self,
                                                             milliseconds timeout) {
  if (self->is_closed_) co_return self->closed();
  const auto deadline = Clock::now() + timeout;
  while (!self->idle_.empty()) {
    auto connection = std::move(self->idle_.back());  // The one used last: its caches are warm.
    self->idle_.pop_back();
    if (connection->is_open()) co_return self->lend(std::move(connection));
    self->retire(std::move(connection));
  }
  if (self->taken() < self->config_.size) {
    auto made = co_await make(self, Place(self), deadline);
    co_return made;
  }
  if (self->waiters_.size() >= self->config_.max_waiters) {
    co_return fail(Errc::kBusy,
                   fmt::format("all {} connections are on loan and {} callers wait already",
                               self->config_.size, self->waiters_.size()));
  }
  auto waited = co_await wait(self, deadline, timeout);
  co_return waited;
}

asio::awaitable<Result<PooledConnection>> PoolState::make(std::shared_ptr<PoolState> self,
                                                          Place place, TimePoint deadline) {
  Config config = self->config_.connection;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  config.connect_timeout = std::min(config.connect_timeout, std::max(left, milliseconds(1)));
  auto connection = co_await Connection::connect(std::move(config));
  if (!connection) co_return fail(std::move(connection.error()));
  if (self->is_closed_) co_return self->closed();
  place.use();
  co_return self->lend(std::move(*connection));
}

asio::awaitable<Result<PooledConnection>> PoolState::wait(std::shared_ptr<PoolState> self,
                                                          TimePoint deadline,
                                                          milliseconds timeout) {
  const auto waiter = std::make_shared<Waiter>(self->executor_);
  self->waiters_.push_back(waiter);
  waiter->timer.expires_at(deadline);
  const auto [cancelled] = co_await waiter->timer.async_wait(kAsValue);
  if (!waiter->is_served) std::erase(self->waiters_, waiter);
  if (self->is_closed_) co_return self->closed();
  if (waiter->loan) co_return std::move(waiter->loan);
  if (cancelled && !waiter->is_served) {
    co_return fail(Errc::kCancelled, "the caller gave up waiting for a connection");
  }
  if (!waiter->is_served) {
    co_return fail(Errc::kTimeout, fmt::format("all {} connections stayed on loan for {}",
                                               self->config_.size, format_duration(timeout)));
  }
  // Served and cancelled at once: a further co_await would throw.
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  if (cancellation.cancelled() != asio::cancellation_type::none) {
    co_return fail(Errc::kCancelled, "the caller gave up waiting for a connection");
  }
  Place place = std::move(*waiter->place);
  auto made = co_await make(self, std::move(place), deadline);
  co_return made;
}

PooledConnection PoolState::lend(std::unique_ptr<Connection> connection) {
  loans_.push_back(connection.get());
  return {shared_from_this(), std::move(connection)};
}

PoolState::WaiterPtr PoolState::next_waiter() noexcept {
  if (waiters_.empty()) return nullptr;
  auto waiter = std::move(waiters_.front());
  waiters_.pop_front();
  waiter->is_served = true;
  waiter->timer.cancel();
  return waiter;
}

void PoolState::pass_on_place() noexcept {
  if (is_closed_) return;
  if (const auto waiter = next_waiter()) waiter->place.emplace(shared_from_this());
}

void PoolState::give_back(std::unique_ptr<Connection> connection) noexcept {
  std::erase(loans_, connection.get());
  if (is_closed_ || !connection->is_open() || !connection->is_idle()) {
    retire(std::move(connection));
    return pass_on_place();
  }
  if (const auto waiter = next_waiter()) {
    waiter->loan = lend(std::move(connection));
  } else {
    idle_.push_back(std::move(connection));
  }
}

void PoolState::retire(std::unique_ptr<Connection> connection) noexcept {
  retired_ += connection->counters();
}

void PoolState::close() {
  if (std::exchange(is_closed_, true)) return;
  while (!idle_.empty()) {
    retire(std::move(idle_.back()));
    idle_.pop_back();
  }
  for (const auto& waiter : std::exchange(waiters_, {})) waiter->timer.cancel();
}

Counters PoolState::counters() const noexcept {
  Counters sum = retired_;
  for (const auto& connection : idle_) sum += connection->counters();
  for (const auto* connection : loans_) sum += connection->counters();
  return sum;
}

PooledConnection::PooledConnection(std::shared_ptr<PoolState> pool,
                                   std::unique_ptr<Connection> connection) noexcept
    : pool_(std::move(pool)), connection_(std::move(connection)) {}

PooledConnection::PooledConnection(PooledConnection&& other) noexcept = default;

PooledConnection& PooledConnection::operator=(PooledConnection&& other) noexcept {
  if (this != &other) {
    give_back();
    pool_ = std::move(other.pool_);
    connection_ = std::move(other.connection_);
  }
  return *this;
}

PooledConnection::~PooledConnection() { give_back(); }

void PooledConnection::give_back() noexcept {
  if (connection_ != nullptr) pool_->give_back(std::move(connection_));
}

Pool::Pool(asio::any_io_executor executor, PoolConfig config)
    : state_(std::make_shared<PoolState>(std::move(executor), std::move(config))) {}

Pool::~Pool() { close(); }

asio::awaitable<Result<PooledConnection>> Pool::acquire(milliseconds timeout) {
  return PoolState::acquire(state_, timeout);
}

void Pool::close() { state_->close(); }

std::size_t Pool::size() const noexcept { return state_->taken(); }

std::size_t Pool::idle() const noexcept { return state_->idle(); }

std::size_t Pool::waiters() const noexcept { return state_->waiters(); }

Counters Pool::counters() const noexcept { return state_->counters(); }

}  // namespace plimsoll::pg
