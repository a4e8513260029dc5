#include "lib/pg/session.hpp"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <utility>

#include "lib/core/units.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/pg/canceller.hpp"
#include "lib/pg/sqlstate.hpp"

namespace plimsoll::pg {
namespace {

using asio::posix::stream_descriptor;

constexpr auto kPatience = std::chrono::milliseconds(50);
constexpr auto kLongest = std::chrono::hours(24 * 365);  // What a clock can add without overflow.

}  // namespace

Session::Session(asio::any_io_executor executor, ConnectionPtr connection, const Config& config)
    : executor_(std::move(executor)),
      config_(config),
      connection_(std::move(connection)),
      backend_pid_(PQbackendPID(connection_.get())),
      server_version_(PQserverVersion(connection_.get())),
      socket_(executor_, PQsocket(connection_.get())),
      patience_(executor_),
      queue_(config.max_in_flight) {}

Session::~Session() {
  if (is_open()) socket_.release();
}

bool Session::is_idle() const noexcept {
  return !queue_.has_in_flight() && !queue_.has_waiting() && !queue_.in_block();
}

asio::awaitable<Result<void>> Session::run(std::shared_ptr<Session> self, CallPtr call,
                                           std::chrono::milliseconds limit) {
  auto submitted = self->submit(call);
  if (!submitted || call->is_done()) co_return submitted;

  call->timer().expires_after(std::min<std::chrono::nanoseconds>(limit, kLongest));
  const auto [cancelled] = co_await call->timer().async_wait(kAsValue);
  if (call->is_done()) co_return Result<void>{};

  if (self->queue_.withdraw(call) == GroupQueue::Withdrawn::kNow) self->cancel_head();
  if (cancelled) co_return fail(Errc::kCancelled, "the caller gave up before the answer came");
  co_return fail(Errc::kTimeout, fmt::format("no answer within {}", format_duration(limit)));
}

Result<void> Session::submit(const CallPtr& call) {
  if (!is_open()) return fail(reason_);
  auto added = queue_.add(call);
  if (added) pump();
  return added;
}

void Session::shut_down(const Error& reason) {
  if (!is_open()) return;
  // A statement that runs on with nobody to answer would keep its locks.
  if (queue_.has_in_flight()) cancel_and_forget(connection_.get());
  lose(reason);
}

void Session::lose(Error reason) {
  if (!is_open()) return;
  reason_ = std::move(reason);
  socket_.release();
  writing_.reset();
  cancelling_.reset();
  patience_.cancel();
  connection_.reset();
  queue_.fail_all(reason_);
}

void Session::lose_with_libpq_message() {
  auto message = one_line(PQerrorMessage(connection_.get()));
  if (message.empty()) message = "the connection to the server was lost";
  lose({Errc::kUnavailable, std::move(message), {}});
}

void Session::pump() {
  while (const auto group = queue_.next_to_send()) {
    if (!send(*group)) return lose_with_libpq_message();
  }
  if (!queue_.has_in_flight()) return;
  const int unsent = PQflush(connection_.get());
  if (unsent < 0) return lose_with_libpq_message();
  if (unsent > 0) wait_writable();
  wait_readable();
}

bool Session::send(Group& group) {
  if (group.is_script()) return send_script(group.statements().front());
  for (const auto& statement : group.statements()) {
    if (!send_statement(statement)) return false;
  }
  return PQpipelineSync(connection_.get()) == 1;
}

bool Session::send_script(const Group::Statement& statement) {
  // The simple protocol, the only one that takes several statements in one text, and libpq's
  // pipeline exclude each other. Nothing else is in flight now.
  return PQexitPipelineMode(connection_.get()) == 1 &&
         PQsendQuery(connection_.get(), statement.query.sql.c_str()) == 1;
}

bool Session::send_statement(const Group::Statement& statement) {
  constexpr int kText = 0;
  auto* const connection = connection_.get();
  const auto& [sql, params, name] = statement.query;
  if (statement.first == Group::Step::kDeallocate) {
    const std::unique_ptr<char, decltype(&PQfreemem)> quoted(
        PQescapeIdentifier(connection, name.data(), name.size()), &PQfreemem);
    if (quoted == nullptr) return false;
    const auto command = fmt::format("DEALLOCATE {}", quoted.get());
    if (PQsendQueryParams(connection, command.c_str(), 0, nullptr, nullptr, nullptr, nullptr,
                          kText) != 1) {
      return false;
    }
  }
  if (statement.first != Group::Step::kExecute &&
      PQsendPrepare(connection, name.c_str(), sql.c_str(), 0, nullptr) != 1) {
    return false;
  }
  values_.clear();
  for (const auto& value : params) values_.push_back(value ? value->c_str() : nullptr);
  const int count = static_cast<int>(values_.size());
  if (name.empty()) {
    return PQsendQueryParams(connection, sql.c_str(), count, nullptr, values_.data(), nullptr,
                             nullptr, kText) == 1;
  }
  return PQsendQueryPrepared(connection, name.c_str(), count, values_.data(), nullptr, nullptr,
                             kText) == 1;
}

void Session::wait_readable() {
  if (is_reading_ || !is_open()) return;
  is_reading_ = true;
  socket_.async_wait(stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->is_reading_ = false;
                       self->on_ready(error);
                     });
}

void Session::wait_writable() {
  if (writing_ || !is_open()) return;
  const int copy = dup(PQsocket(connection_.get()));
  if (copy < 0) return lose({Errc::kInternal, "no file descriptor left to wait for writing", {}});
  writing_.emplace(executor_, copy);
  writing_->async_wait(stream_descriptor::wait_write,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         self->writing_.reset();
                         self->on_ready(error);
                       });
}

void Session::on_ready(const boost::system::error_code& error) {
  if (!is_open()) return;
  if (error) return lose({Errc::kUnavailable, error.message(), {}});
  const bool alive = receive();
  take_answers();  // What came before the end, such as the reason for it.
  if (!is_open()) return;
  if (!alive) return lose_with_libpq_message();
  watch_head();
  pump();
}

bool Session::receive() {
  auto* const connection = connection_.get();
  if (PQconsumeInput(connection) != 1) return false;
  // A TLS record may hold more than libpq's buffer took; the socket will not tell of the rest.
  if (PQsslInUse(connection) != 0) {
    auto* const tls = static_cast<SSL*>(PQsslStruct(connection, "OpenSSL"));
    while (tls != nullptr && SSL_pending(tls) > 0) {
      if (PQconsumeInput(connection) != 1) return false;
    }
  }
  while (PGnotify* notification = PQnotifies(connection)) PQfreemem(notification);
  return true;
}

void Session::take_answers() {
  while (is_open() && queue_.has_in_flight() && PQisBusy(connection_.get()) == 0) {
    PGresult* const result = PQgetResult(connection_.get());
    if (result != nullptr) {
      take(result);
    } else if (PQstatus(connection_.get()) == CONNECTION_BAD) {
      lose_with_libpq_message();
    } else if (queue_.head().is_script()) {
      end_of_script();
    } else {
      queue_.on_end_of_command();
    }
  }
}

void Session::take(PGresult* result) {
  Rows rows(result);
  switch (PQresultStatus(result)) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
      return queue_.on_rows(std::move(rows));
    case PGRES_PIPELINE_ABORTED:
      return queue_.on_skipped();
    case PGRES_PIPELINE_SYNC: {
      // With more in flight libpq says "active" whatever the server said.
      const auto status = PQtransactionStatus(connection_.get());
      const bool is_known = status != PQTRANS_ACTIVE && status != PQTRANS_UNKNOWN;
      return queue_.on_sync(is_known ? std::optional(status != PQTRANS_IDLE) : std::nullopt);
    }
    case PGRES_FATAL_ERROR: {
      auto error = error_of_result(result);
      if (error.poisons_connection()) return lose(std::move(error));
      return queue_.on_error(std::move(error));
    }
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_COPY_BOTH:
      return lose(
          {Errc::kProtocol, "COPY cannot be executed as a query; the connection is lost", {}});
    default:
      return lose({Errc::kProtocol,
                   fmt::format("unexpected answer {}", PQresStatus(PQresultStatus(result))),
                   {}});
  }
}

void Session::end_of_script() {
  const auto status = PQtransactionStatus(connection_.get());
  if (PQenterPipelineMode(connection_.get()) != 1) return lose_with_libpq_message();
  queue_.on_sync(status != PQTRANS_IDLE);
}

void Session::cancel_head() {
  patience_.cancel();
  watched_ = nullptr;
  queue_.on_cancel_started();
  const int done = start_cancel(connection_.get());
  if (done < 0) {
    queue_.on_cancel_finished();
    return watch_head();
  }
  cancelling_.emplace(executor_, done);
  cancelling_->async_wait(stream_descriptor::wait_read,
                          [self = shared_from_this()](const boost::system::error_code&) {
                            if (!self->is_open()) return;
                            self->cancelling_.reset();
                            self->queue_.on_cancel_finished();
                            self->watch_head();
                            self->pump();
                          });
}

void Session::watch_head() {
  const Group* const head = queue_.is_cancelling() ? nullptr : queue_.abandoned_head();
  if (head == watched_) return;
  watched_ = head;
  patience_.cancel();
  if (head == nullptr) return;
  patience_.expires_after(kPatience);
  patience_.async_wait([self = shared_from_this(), head](const boost::system::error_code& error) {
    if (error || !self->is_open() || self->watched_ != head) return;
    self->watched_ = nullptr;
    if (self->queue_.abandoned_head() == head && !self->queue_.is_cancelling()) {
      self->cancel_head();
    }
  });
}

}  // namespace plimsoll::pg
