#include "lib/redis/supervised_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <random>
#include <utility>

#include "lib/core/clock.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/redis/backoff.hpp"
#include "lib/redis/call_queue.hpp"

namespace plimsoll::redis {

using std::chrono::milliseconds;

// One coroutine at a time connects, beside the callers: it is nobody's, so no caller that gives up
// takes it along.
class Supervisor : public std::enable_shared_from_this<Supervisor> {
 public:
  Supervisor(asio::any_io_executor executor, SupervisedConfig config)
      : executor_(std::move(executor)),
        config_(std::move(config)),
        backoff_(config_.first_pause, config_.longest_pause,
                 config_.seed ? *config_.seed : std::random_device{}()) {}

  static asio::awaitable<Result<Reply>> command(std::shared_ptr<Supervisor> self, Command command,
                                                Timeout timeout);
  static asio::awaitable<std::vector<Result<Reply>>> pipeline(std::shared_ptr<Supervisor> self,
                                                              std::vector<Command> commands,
                                                              Timeout timeout);
  void close();

  [[nodiscard]] bool is_connected() const noexcept {
    return connection_ != nullptr && connection_->is_open();
  }
  [[nodiscard]] std::uint64_t connections() const noexcept { return connections_; }
  [[nodiscard]] Counters counters() const noexcept {
    Counters sum = retired_;
    if (connection_ != nullptr) sum += connection_->counters();
    return sum;
  }

 private:
  struct Waiter {
    explicit Waiter(const asio::any_io_executor& executor) : timer(executor) {}

    asio::steady_timer timer;
    bool is_served = false;
    std::optional<Error> error;  ///< Why there is no connection.
  };
  using WaiterPtr = std::shared_ptr<Waiter>;

  static asio::awaitable<Result<void>> connected(std::shared_ptr<Supervisor> self,
                                                 TimePoint deadline);
  static asio::awaitable<void> connect(std::shared_ptr<Supervisor> self);
  [[nodiscard]] TimePoint deadline_of(Timeout timeout) const noexcept;
  void start_connecting();
  void install(std::unique_ptr<Connection> connection);
  void retire();
  void serve_all(const std::optional<Error>& error);
  [[nodiscard]] Error nothing_in_time() const {
    return {Errc::kUnavailable, fmt::format("no connection in time; last: {}", last_.message), {}};
  }

  asio::any_io_executor executor_;
  SupervisedConfig config_;
  std::unique_ptr<Connection> connection_;
  Counters retired_;  // Of connections that are gone.
  Backoff backoff_;
  TimePoint made_at_{};     // When `connection_` was made.
  TimePoint not_before_{};  // Of the next attempt.
  Error last_{Errc::kUnavailable, "no connection was tried yet", {}};
  std::vector<WaiterPtr> waiters_;
  asio::cancellation_signal stop_;
  std::uint64_t connections_ = 0;
  bool is_connecting_ = false;
  bool is_closed_ = false;
};

namespace {

// Time does not mend it.
bool is_final(Errc code) noexcept {
  return code == Errc::kRefused || code == Errc::kInvalidArgument || code == Errc::kNotFound;
}

milliseconds until(TimePoint deadline) noexcept {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return std::max(left, milliseconds(0));
}

Error closed_by_owner() {
  return {Errc::kUnavailable, "the connection was closed by its owner", {}};
}

}  // namespace

TimePoint Supervisor::deadline_of(Timeout timeout) const noexcept {
  constexpr auto kLongest = std::chrono::hours(24 * 365);
  const auto limit = timeout.value_or(config_.connection.call_timeout);
  return Clock::now() + std::min<Nanoseconds>(limit, kLongest);
}

asio::awaitable<Result<Reply>> Supervisor::command(std::shared_ptr<Supervisor> self,
                                                   Command command, Timeout timeout) {
  const auto deadline = self->deadline_of(timeout);
  if (!self->is_connected() || !self->connection_->probe()) {
    auto ready = co_await connected(self, deadline);
    if (!ready) co_return fail(std::move(ready.error()));
  }
  auto asked = self->connection_->command(std::move(command), until(deadline));
  auto answer = co_await std::move(asked);
  co_return answer;
}

asio::awaitable<std::vector<Result<Reply>>> Supervisor::pipeline(std::shared_ptr<Supervisor> self,
                                                                 std::vector<Command> commands,
                                                                 Timeout timeout) {
  const auto deadline = self->deadline_of(timeout);
  if (!self->is_connected() || !self->connection_->probe()) {
    auto ready = co_await connected(self, deadline);
    if (!ready) {
      std::vector<Result<Reply>> refused(commands.size(), fail(ready.error()));
      co_return refused;
    }
  }
  auto asked = self->connection_->pipeline(std::move(commands), until(deadline));
  auto answers = co_await std::move(asked);
  co_return answers;
}

// Returns with a connection that is open, on the spot: nothing else runs before the caller uses it.
asio::awaitable<Result<void>> Supervisor::connected(std::shared_ptr<Supervisor> self,
                                                    TimePoint deadline) {
  while (!self->is_closed_) {
    const auto waiter = std::make_shared<Waiter>(self->executor_);
    self->waiters_.push_back(waiter);
    self->start_connecting();
    waiter->timer.expires_at(deadline);
    co_await waiter->timer.async_wait(kAsValue);
    if (!waiter->is_served) std::erase(self->waiters_, waiter);
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) {
      Error gave_up{Errc::kCancelled, "the caller gave up waiting for a connection", {}};
      co_return fail(not_sent(std::move(gave_up)));
    }
    if (waiter->error) co_return fail(not_sent(*waiter->error));
    if (self->is_connected()) co_return Result<void>{};
    if (!waiter->is_served) {
      co_return fail(not_sent(self->nothing_in_time()));
    }
    // It broke before this coroutine had its turn: once more.
  }
  co_return fail(not_sent(closed_by_owner()));
}

void Supervisor::start_connecting() {
  if (is_connecting_) return;
  is_connecting_ = true;
  retire();
  asio::co_spawn(executor_, connect(shared_from_this()),
                 asio::bind_cancellation_slot(stop_.slot(), asio::detached));
}

asio::awaitable<void> Supervisor::connect(std::shared_ptr<Supervisor> self) {
  asio::steady_timer pause(self->executor_);
  while (!self->is_closed_ && !self->waiters_.empty()) {
    pause.expires_at(self->not_before_);
    const auto [stopped] = co_await pause.async_wait(kAsValue);
    if (stopped || self->is_closed_ || self->waiters_.empty()) break;
    auto made = co_await Connection::connect(self->config_.connection);
    if (self->is_closed_) break;
    if (made) {
      self->install(std::move(*made));
      break;
    }
    self->last_ = made.error();
    self->not_before_ = Clock::now() + self->backoff_.next();
    if (is_final(self->last_.code)) {
      self->serve_all(self->last_);
      break;
    }
  }
  self->is_connecting_ = false;
}

void Supervisor::install(std::unique_ptr<Connection> connection) {
  connection_ = std::move(connection);
  made_at_ = Clock::now();
  ++connections_;
  serve_all(std::nullopt);
}

// What broke again at once counts as a failed attempt; what held has earned a quick return.
void Supervisor::retire() {
  if (connection_ == nullptr) return;
  retired_ += connection_->counters();
  connection_.reset();
  if (Clock::now() - made_at_ > config_.longest_pause) backoff_.reset();
  not_before_ = std::max(not_before_, made_at_ + backoff_.next());
}

void Supervisor::serve_all(const std::optional<Error>& error) {
  for (const auto& waiter : std::exchange(waiters_, {})) {
    waiter->is_served = true;
    waiter->error = error;
    waiter->timer.cancel();
  }
}

void Supervisor::close() {
  if (std::exchange(is_closed_, true)) return;
  if (connection_ != nullptr) connection_->close();
  serve_all(closed_by_owner());
  stop_.emit(asio::cancellation_type::terminal);
}

SupervisedConnection::SupervisedConnection(asio::any_io_executor executor, SupervisedConfig config)
    : supervisor_(std::make_shared<Supervisor>(std::move(executor), std::move(config))) {}

SupervisedConnection::~SupervisedConnection() { close(); }

asio::awaitable<Result<Reply>> SupervisedConnection::command(Command command, Timeout timeout) {
  return Supervisor::command(supervisor_, std::move(command), timeout);
}

asio::awaitable<std::vector<Result<Reply>>> SupervisedConnection::pipeline(
    std::vector<Command> commands, Timeout timeout) {
  return Supervisor::pipeline(supervisor_, std::move(commands), timeout);
}

void SupervisedConnection::close() { supervisor_->close(); }

bool SupervisedConnection::is_connected() const noexcept { return supervisor_->is_connected(); }

std::uint64_t SupervisedConnection::connections() const noexcept {
  return supervisor_->connections();
}

Counters SupervisedConnection::counters() const noexcept { return supervisor_->counters(); }

}  // namespace plimsoll::redis
