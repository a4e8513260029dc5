#include "lib/pg/copy_session.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "lib/core/units.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/pg/canceller.hpp"
#include "lib/pg/copy_writer.hpp"
#include "lib/pg/dsn.hpp"
#include "lib/pg/query_check.hpp"
#include "lib/pg/rows.hpp"
#include "lib/pg/socket_input.hpp"
#include "lib/pg/sqlstate.hpp"

namespace plimsoll::pg {
namespace {

using asio::posix::stream_descriptor;
using Phase = CopySession::Phase;

constexpr const char* kGivenUp = "the client gave the COPY up";

// The server's error and where in the data it was: "COPY t, line 3, column n". What stands there in
// quotes is data and is left out.
Error error_of_copy(const PGresult* result) {
  auto error = error_of_result(result);
  const char* const context = PQresultErrorField(result, PG_DIAG_CONTEXT);
  if (context == nullptr || error.poisons_connection()) return error;
  std::string_view where(context);
  where = where.substr(0, where.find('\n'));
  const auto colon = where.find(": \"");
  error.message += fmt::format(" ({})", hide_quoted(where.substr(0, colon)));
  return error;
}

}  // namespace

CopySession::CopySession(asio::any_io_executor executor, ConnectionPtr connection,
                         const Config& config)
    : executor_(std::move(executor)),
      config_(config),
      connection_(std::move(connection)),
      backend_pid_(PQbackendPID(connection_.get())),
      socket_(executor_, PQsocket(connection_.get())),
      cleaned_(executor_) {}

CopySession::~CopySession() {
  if (is_open()) socket_.release();
}

void CopySession::lose(Error reason) {
  if (!is_open()) return;
  reason_ = std::move(reason);
  socket_.release();
  connection_.reset();
  phase_ = Phase::kIdle;
  cleaned_.cancel();
}

void CopySession::shut_down(Error reason) {
  if (!is_open()) return;
  // A COPY that runs on with nobody to talk to would keep its locks.
  if (phase_ != Phase::kIdle) cancel_and_forget(connection_.get());
  lose(std::move(reason));
}

// The server may have said why before it went; libpq has that in its buffer.
Error CopySession::lost_on_reading() {
  auto* const connection = connection_.get();
  Error why{Errc::kUnavailable, one_line(PQerrorMessage(connection)), {}};
  char* row = nullptr;
  while (PQgetCopyData(connection, &row, 1) > 0) PQfreemem(row);
  if (phase_ == Phase::kCopying) PQputCopyEnd(connection, nullptr);
  if (PQisBusy(connection) == 0) {
    const ResultPtr last(PQgetResult(connection));
    const bool is_error = last != nullptr && PQresultStatus(last.get()) == PGRES_FATAL_ERROR;
    if (is_error) why = error_of_result(last.get());
  }
  if (why.message.empty()) why.message = "the connection to the server was lost";
  why.code = Errc::kUnavailable;
  lose(why);
  return why;
}

Error CopySession::lost_on_writing() {
  auto message = one_line(PQerrorMessage(connection_.get()));
  if (message.empty()) message = "the connection to the server was lost";
  lose({Errc::kUnavailable, std::move(message), {}});
  return reason_;
}

bool CopySession::receive() {
  if (!consume_input(connection_.get())) return false;
  while (PGnotify* notification = PQnotifies(connection_.get())) PQfreemem(notification);
  return true;
}

// While rows are being sent libpq keeps an error of the server to itself until the end. The first
// thing that the server says then stands at the beginning of a message, so its type can be seen in
// the socket; behind it, or through TLS, nothing can be told.
void CopySession::look_for_answer() noexcept {
  if (has_looked_ || phase_ != Phase::kCopying) return;
  if (PQsslInUse(connection_.get()) != 0 || PQgssEncInUse(connection_.get()) != 0) return;
  char type = 0;
  const auto size = recv(PQsocket(connection_.get()), &type, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size < 0) return;
  has_looked_ = true;
  has_answer_ = size == 0 || type == 'E';
}

asio::awaitable<Result<void>> CopySession::readable(std::shared_ptr<CopySession> self) {
  const auto [error] = co_await self->socket_.async_wait(stream_descriptor::wait_read, kAsValue);
  if (!self->is_open()) co_return fail(self->reason_);
  if (error) co_return fail(Errc::kCancelled, kGivenUp);
  if (!self->receive()) co_return fail(self->lost_on_reading());
  co_return Result<void>{};
}

asio::awaitable<Result<void>> CopySession::flush(std::shared_ptr<CopySession> self) {
  using asio::experimental::awaitable_operators::operator||;
  while (true) {
    const int unsent = PQflush(self->connection_.get());
    if (unsent < 0) co_return fail(self->lost_on_writing());
    if (unsent == 0) co_return Result<void>{};
    // The server may have something to say, or be blocked on saying it.
    auto ready = co_await (self->socket_.async_wait(stream_descriptor::wait_write, kAsValue) ||
                           self->socket_.async_wait(stream_descriptor::wait_read, kAsValue));
    if (!self->is_open()) co_return fail(self->reason_);
    const auto error =
        ready.index() == 0 ? std::get<0>(std::get<0>(ready)) : std::get<0>(std::get<1>(ready));
    if (error) co_return fail(Errc::kCancelled, kGivenUp);
    self->look_for_answer();
    if (!self->receive()) co_return fail(self->lost_on_reading());
  }
}

asio::awaitable<Result<CopySession::ResultPtr>> CopySession::next_result(
    std::shared_ptr<CopySession> self) {
  Result<void> flushed = co_await flush(self);
  if (!flushed) co_return fail(std::move(flushed.error()));
  while (PQisBusy(self->connection_.get()) != 0) {
    Result<void> more = co_await readable(self);
    if (!more) co_return fail(std::move(more.error()));
  }
  ResultPtr result(PQgetResult(self->connection_.get()));
  if (result == nullptr && PQstatus(self->connection_.get()) == CONNECTION_BAD) {
    co_return fail(self->lost_on_reading());
  }
  // For no result at all PQresultStatus says FATAL_ERROR, too.
  if (result != nullptr && PQresultStatus(result.get()) == PGRES_FATAL_ERROR) {
    auto error = error_of_copy(result.get());
    if (error.poisons_connection()) {
      self->lose(error);
      co_return fail(std::move(error));
    }
  }
  co_return Result<ResultPtr>(std::move(result));
}

asio::awaitable<Result<void>> CopySession::enter(std::shared_ptr<CopySession> self,
                                                 std::chrono::milliseconds limit) {
  if (self->is_taken_) {
    co_return fail(Errc::kBusy, "a COPY is going on on this connection; nothing was sent");
  }
  self->is_taken_ = true;
  if (self->is_cleaning_ && self->is_open()) {
    self->cleaned_.expires_after(std::min<Nanoseconds>(limit, 2 * kPatience));
    const auto [error] = co_await self->cleaned_.async_wait(kAsValue);
    if (self->is_cleaning_ && self->is_open()) {
      self->is_taken_ = false;
      co_return fail(error ? Errc::kCancelled : Errc::kTimeout,
                     "an earlier COPY is still being undone; nothing was sent");
    }
  }
  if (!self->is_open()) {
    self->is_taken_ = false;
    co_return fail(self->reason_);
  }
  co_return Result<void>{};
}

asio::awaitable<Result<CopySession::Shape>> CopySession::begin(std::shared_ptr<CopySession> self,
                                                               std::string sql,
                                                               Direction direction) {
  if (auto checked = check_script(sql); !checked) co_return fail(std::move(checked.error()));
  if (PQsendQuery(self->connection_.get(), sql.c_str()) != 1) {
    co_return fail(self->lost_on_writing());
  }
  self->phase_ = Phase::kAsking;
  self->has_looked_ = false;
  self->has_answer_ = false;
  Result<ResultPtr> result = co_await next_result(self);
  if (!result) co_return fail(std::move(result.error()));
  const auto status = PQresultStatus(result->get());
  const auto expected = direction == Direction::kIn ? PGRES_COPY_IN : PGRES_COPY_OUT;
  if (status == expected) {
    self->phase_ = Phase::kCopying;
    co_return Shape{PQbinaryTuples(result->get()) != 0 ? CopyFormat::kBinary : CopyFormat::kText,
                    static_cast<std::size_t>(std::max(PQnfields(result->get()), 0))};
  }
  Error error{Errc::kInvalidArgument,
              fmt::format("the statement is no COPY {}; the server answered it with {} {}",
                          direction == Direction::kIn ? "FROM STDIN" : "TO STDOUT",
                          PQresStatus(status), PQcmdStatus(result->get())),
              {}};
  if (status == PGRES_FATAL_ERROR) error = error_of_copy(result->get());
  if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT) {
    co_await abort(self);
  } else {
    [[maybe_unused]] const Result<void> rest = co_await drain(self);
  }
  co_return fail(std::move(error));
}

asio::awaitable<Result<void>> CopySession::put(std::shared_ptr<CopySession> self,
                                               std::string_view bytes) {
  while (!bytes.empty() && !self->has_answer_) {
    // In pieces, so that libpq never has more than one of them waiting.
    const auto piece = bytes.substr(0, kCopyChunk);
    const int taken =
        PQputCopyData(self->connection_.get(), piece.data(), static_cast<int>(piece.size()));
    if (taken < 0) co_return fail(self->lost_on_writing());
    if (taken > 0) bytes.remove_prefix(piece.size());
    Result<void> flushed = co_await flush(self);
    if (!flushed) co_return flushed;
    self->look_for_answer();
  }
  co_return Result<void>{};
}

asio::awaitable<Result<bool>> CopySession::fill(std::shared_ptr<CopySession> self,
                                                CopyReader* reader) {
  bool has_tried = false;
  while (true) {
    char* row = nullptr;
    const int size = PQgetCopyData(self->connection_.get(), &row, 1);
    if (size > 0) {
      const std::unique_ptr<char, decltype(&PQfreemem)> owned(row, &PQfreemem);
      auto fed = reader->feed(std::string_view(row, static_cast<std::size_t>(size)));
      if (!fed) co_return fail(std::move(fed.error()));
      if (reader->is_full()) co_return true;
      has_tried = false;
    } else if (size == -1) {
      self->phase_ = Phase::kEnding;
      co_return false;
    } else if (size < -1) {
      co_return fail(self->lost_on_writing());
    } else if (!has_tried) {
      has_tried = true;
      if (!self->receive()) co_return fail(self->lost_on_reading());
    } else {
      if (!reader->rows().empty()) co_return true;
      Result<void> more = co_await readable(self);
      if (!more) co_return fail(std::move(more.error()));
    }
  }
}

asio::awaitable<Result<std::uint64_t>> CopySession::finish(std::shared_ptr<CopySession> self,
                                                           Direction direction) {
  while (direction == Direction::kIn) {
    // Where the server has answered already it is an error; it must not take what was sent for all.
    const char* const stop = self->has_answer_ ? kGivenUp : nullptr;
    const int ended = PQputCopyEnd(self->connection_.get(), stop);
    if (ended < 0) co_return fail(self->lost_on_reading());
    if (ended > 0) break;
    Result<void> flushed = co_await flush(self);
    if (!flushed) co_return fail(std::move(flushed.error()));
  }
  self->phase_ = Phase::kEnding;
  Result<ResultPtr> result = co_await next_result(self);
  if (!result) co_return fail(std::move(result.error()));
  Result<std::uint64_t> count = fail(Errc::kProtocol, "the server did not say how it ended");
  if (*result != nullptr && PQresultStatus(result->get()) == PGRES_FATAL_ERROR) {
    count = fail(error_of_copy(result->get()));
  } else if (*result != nullptr) {
    count = Rows(result->release()).affected();
  }
  Result<void> rest = co_await drain(self);
  if (!rest) co_return fail(std::move(rest.error()));
  co_return count;
}

// What is left of the answers up to "ready". The first error among them.
asio::awaitable<Result<void>> CopySession::drain(std::shared_ptr<CopySession> self) {
  Result<void> first;
  while (true) {
    Result<ResultPtr> result = co_await next_result(self);
    if (!result) co_return fail(std::move(result.error()));
    if (*result == nullptr) break;
    const auto status = PQresultStatus(result->get());
    if (status == PGRES_FATAL_ERROR) {
      if (first) first = fail(error_of_copy(result->get()));
    } else if (status == PGRES_COPY_IN) {
      if (PQputCopyEnd(self->connection_.get(), kGivenUp) < 0) {
        co_return fail(self->lost_on_reading());
      }
    } else if (status == PGRES_COPY_OUT) {
      Result<void> dropped = co_await drop_rows(self);
      if (!dropped) co_return dropped;
    }
  }
  self->phase_ = Phase::kIdle;
  co_return first;
}

asio::awaitable<Result<void>> CopySession::drop_rows(std::shared_ptr<CopySession> self) {
  while (true) {
    char* row = nullptr;
    const int size = PQgetCopyData(self->connection_.get(), &row, 1);
    if (size > 0) PQfreemem(row);
    if (size == -1) co_return Result<void>{};
    if (size < -1) co_return fail(self->lost_on_writing());
    if (size > 0) continue;
    Result<void> more = co_await readable(self);
    if (!more) co_return more;
  }
}

// `asked` becomes readable when the server has taken the cancel.
asio::awaitable<Result<void>> CopySession::drain_after(std::shared_ptr<CopySession> self,
                                                       int asked) {
  stream_descriptor signal(self->executor_, asked);
  const auto [error] = co_await signal.async_wait(stream_descriptor::wait_read, kAsValue);
  if (error) co_return fail(Errc::kCancelled, "no answer to the cancel request");
  Result<void> rest = co_await drain(self);
  co_return rest;
}

asio::awaitable<void> CopySession::abort(std::shared_ptr<CopySession> self) {
  if (!self->is_open() || self->phase_ == Phase::kIdle) co_return;
  // Said before the cancel is taken, since a server that waits for rows does not listen to it.
  if (self->phase_ == Phase::kCopying) PQputCopyEnd(self->connection_.get(), kGivenUp);
  PQflush(self->connection_.get());
  const int asked = start_cancel(self->connection_.get());
  auto work = asked < 0 ? drain(self) : drain_after(self, asked);
  auto ended = co_await with_timeout(std::move(work), kPatience);
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  // The call around this one ran out of time; it has the rest done by `abort_later`.
  if (cancellation.cancelled() != asio::cancellation_type::none) co_return;
  if (!ended || self->phase_ != Phase::kIdle) {
    self->lose({Errc::kTimeout,
                fmt::format("the server did not end a COPY that was given up within {}",
                            format_duration(kPatience)),
                {}});
  }
}

asio::awaitable<void> CopySession::clean_up(std::shared_ptr<CopySession> self) {
  co_await abort(self);
  self->is_cleaning_ = false;
  self->cleaned_.cancel();
}

void CopySession::abort_later() {
  if (!is_open() || phase_ == Phase::kIdle) return;
  is_cleaning_ = true;
  asio::co_spawn(executor_, clean_up(shared_from_this()), asio::detached);
}

}  // namespace plimsoll::pg
