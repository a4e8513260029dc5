#include "lib/redis/connection.hpp"

#include <utility>

#include "lib/redis/encode.hpp"
#include "lib/redis/session.hpp"

namespace plimsoll::redis {
namespace {

asio::awaitable<Result<Reply>> run_one(std::shared_ptr<Session> session, Command command,
                                       std::chrono::milliseconds limit) {
  if (auto checked = check(command); !checked) co_return fail(std::move(checked.error()));
  const auto call = std::make_shared<Call>(*session, std::move(command));
  // Session::run by its parts: the most frequent call of all is spared a coroutine's frame.
  auto done = session->start(call, limit);
  if (done && !call->is_done()) co_await Session::finished(call);
  if (done) done = call->ended();
  if (!done) co_return fail(std::move(done.error()));
  co_return std::move(call->results().front());
}

asio::awaitable<std::vector<Result<Reply>>> run_all(std::shared_ptr<Session> session,
                                                    std::vector<Command> commands,
                                                    std::chrono::milliseconds limit) {
  const std::size_t count = commands.size();
  std::vector<Result<Reply>> results;
  if (count == 0) co_return results;
  for (const auto& command : commands) {
    if (auto checked = check(command); !checked) {
      results.assign(count, fail(std::move(checked.error())));
      co_return results;
    }
  }
  const auto call = std::make_shared<Call>(*session, std::move(commands));
  auto done = co_await Session::run(session, call, limit);
  results.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (done || i < call->answered()) {
      results.push_back(std::move(call->results()[i]));
    } else {
      results.emplace_back(fail(done.error()));
    }
  }
  co_return results;
}

}  // namespace

Connection::Connection(std::shared_ptr<Session> session) noexcept : session_(std::move(session)) {}

Connection::~Connection() { close(); }

// These are no coroutines themselves: what they return holds the session, never the connection, so
// the connection may go while they are awaited.

asio::awaitable<Result<Reply>> Connection::command(Command command, Timeout timeout) {
  return run_one(session_, std::move(command), timeout.value_or(session_->call_timeout()));
}

asio::awaitable<std::vector<Result<Reply>>> Connection::pipeline(std::vector<Command> commands,
                                                                 Timeout timeout) {
  return run_all(session_, std::move(commands), timeout.value_or(session_->call_timeout()));
}

void Connection::close() {
  session_->shut_down({Errc::kUnavailable, "the connection was closed by its owner", {}});
}

bool Connection::is_open() const noexcept { return session_->is_open(); }

bool Connection::probe() { return session_->probe(); }

bool Connection::is_idle() const noexcept { return session_->is_idle(); }

Counters Connection::counters() const noexcept { return session_->counters(); }

asio::any_io_executor Connection::executor() const noexcept { return session_->executor(); }

}  // namespace plimsoll::redis
