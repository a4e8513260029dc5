#include "lib/pg/connection.hpp"

#include <utility>

#include "lib/pg/pooler.hpp"
#include "lib/pg/query_check.hpp"
#include "lib/pg/session.hpp"

namespace plimsoll::pg {
namespace {

Result<void> check(const Session& session, const Query& query) {
  if (auto checked = check(query); !checked) return checked;
  return session.config().pooled ? check_pooled(query) : Result<void>{};
}

asio::awaitable<Result<Rows>> run_one(std::shared_ptr<Session> session, Query query,
                                      std::chrono::milliseconds limit) {
  if (auto checked = check(*session, query); !checked) co_return fail(std::move(checked.error()));
  const auto call = std::make_shared<Call>(*session, std::move(query));
  auto done = co_await Session::run(session, call, limit);
  if (!done) co_return fail(std::move(done.error()));
  co_return std::move(call->statements().front().result);
}

asio::awaitable<std::vector<Result<Rows>>> run_all(std::shared_ptr<Session> session,
                                                   std::vector<Query> queries,
                                                   std::chrono::milliseconds limit) {
  const std::size_t count = queries.size();
  if (count == 0) co_return std::vector<Result<Rows>>{};
  for (const auto& query : queries) {
    if (auto checked = check(*session, query); !checked) {
      std::vector<Result<Rows>> refused;
      for (std::size_t i = 0; i < count; ++i) refused.emplace_back(fail(checked.error()));
      co_return refused;
    }
  }
  const auto call = std::make_shared<Call>(*session, std::move(queries));
  auto done = co_await Session::run(session, call, limit);
  std::vector<Result<Rows>> results;
  results.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (done) {
      results.push_back(std::move(call->statements()[i].result));
    } else {
      results.emplace_back(fail(done.error()));
    }
  }
  co_return results;
}

asio::awaitable<Result<void>> run_script(std::shared_ptr<Session> session, std::string sql,
                                         std::chrono::milliseconds limit) {
  if (auto checked = check_script(sql); !checked) co_return checked;
  const auto call = std::make_shared<Call>(*session, std::move(sql));
  auto done = co_await Session::run(session, call, limit);
  if (!done) co_return done;
  auto& result = call->statements().front().result;
  if (!result) co_return fail(std::move(result.error()));
  co_return Result<void>{};
}

}  // namespace

Connection::Connection(std::shared_ptr<Session> session) noexcept : session_(std::move(session)) {}

Connection::~Connection() { close(); }

// These are no coroutines themselves: what they return holds the session, never the connection, so
// the connection may go while they are awaited.

asio::awaitable<Result<Rows>> Connection::query(Query query, Timeout timeout) {
  return run_one(session_, std::move(query),
                 timeout.value_or(session_->config().statement_timeout));
}

asio::awaitable<Result<Rows>> Connection::query(std::string sql, Params params, Timeout timeout) {
  return query(Query(std::move(sql), std::move(params)), timeout);
}

asio::awaitable<std::vector<Result<Rows>>> Connection::pipeline(std::vector<Query> queries,
                                                                Timeout timeout) {
  return run_all(session_, std::move(queries),
                 timeout.value_or(session_->config().statement_timeout));
}

asio::awaitable<Result<void>> Connection::script(std::string sql, Timeout timeout) {
  return run_script(session_, std::move(sql),
                    timeout.value_or(session_->config().statement_timeout));
}

void Connection::close() {
  session_->shut_down({Errc::kUnavailable, "the connection was closed by its owner", {}});
}

bool Connection::is_open() const noexcept { return session_->is_open(); }

bool Connection::is_idle() const noexcept { return session_->is_idle(); }

int Connection::backend_pid() const noexcept { return session_->backend_pid(); }

int Connection::server_version() const noexcept { return session_->server_version(); }

const Counters& Connection::counters() const noexcept { return session_->counters(); }

asio::any_io_executor Connection::executor() const noexcept { return session_->executor(); }

}  // namespace plimsoll::pg
