// What a Session says to libpq and takes from it. The rest of it is in session.cpp.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "lib/pg/pooler.hpp"
#include "lib/pg/session.hpp"
#include "lib/pg/socket_input.hpp"
#include "lib/pg/sqlstate.hpp"

namespace plimsoll::pg {

using asio::posix::stream_descriptor;

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
  if (error) {
    lose({Errc::kUnavailable, error.message(), {}});
  } else {
    const bool is_alive = receive();
    take_answers();  // What came before the end, such as the reason for it.
    if (is_open() && !is_alive) lose_with_libpq_message();
    if (is_open()) watch_head();
  }
  settle();
}

bool Session::receive() {
  auto* const connection = connection_.get();
  if (!consume_input(connection)) return false;
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
      if (is_of_pooler(error)) return lose_to_pooler(explain_pooler(std::move(error)));
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

// It closes the connection behind each error of its own. A caller who may come again (kBusy) has to
// come on another connection.
void Session::lose_to_pooler(Error error) {
  queue_.fail_all(error);
  if (!error.poisons_connection()) error.code = Errc::kUnavailable;
  lose(std::move(error));
}

void Session::end_of_script() {
  const auto status = PQtransactionStatus(connection_.get());
  if (PQenterPipelineMode(connection_.get()) != 1) return lose_with_libpq_message();
  queue_.on_sync(status != PQTRANS_IDLE);
}

}  // namespace plimsoll::pg
