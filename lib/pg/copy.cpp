#include "lib/pg/copy.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "lib/core/units.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/pg/copy_session.hpp"
#include "lib/pg/log_in.hpp"
#include "lib/pg/outcome.hpp"

namespace plimsoll::pg {
namespace {

using std::chrono::milliseconds;
using Direction = CopySession::Direction;
using Phase = CopySession::Phase;
using SessionPtr = std::shared_ptr<CopySession>;

// A session in the hands of one call. One that is left in the middle, by a frame that is destroyed
// or an exception that passes through, is in no state to be used again.
class Turn {
 public:
  explicit Turn(SessionPtr session) noexcept : session_(std::move(session)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    session_->leave();
    if (!is_over_) {
      session_->shut_down({Errc::kUnavailable, "a COPY on this connection was left unended", {}});
    }
  }
  void is_over() noexcept { is_over_ = true; }

 private:
  SessionPtr session_;
  bool is_over_ = false;
};

asio::awaitable<Result<bool>> ask(CopySource* source, CopyWriter* writer) {
  try {
    Result<bool> more = co_await (*source)(*writer);
    if (more) {
      if (auto checked = writer->check(); !checked) more = fail(std::move(checked.error()));
    }
    co_return more;
  } catch (const std::exception& thrown) {
    co_return fail(Errc::kInternal, fmt::format("the source threw: {}", thrown.what()));
  }
}

asio::awaitable<Result<void>> give(CopySink* sink, const CopyRows* rows) {
  try {
    Result<void> taken = co_await (*sink)(*rows);
    co_return taken;
  } catch (const std::exception& thrown) {
    co_return fail(Errc::kInternal, fmt::format("the sink threw: {}", thrown.what()));
  }
}

Error with_state(Error error, const CopySession& session, std::string_view ended) {
  error.message += fmt::format("; the COPY was {}, and the connection {}", ended,
                               session.is_open() ? "can be used again" : "is lost");
  return error;
}

// `what`: the server's count must be ours.
Result<std::uint64_t> same_count(std::uint64_t ours, std::uint64_t servers, std::string_view what) {
  if (ours == servers) return servers;
  return fail(Errc::kCorrupt,
              fmt::format("{} rows were {}, and the server says COPY {}", ours, what, servers));
}

Error maybe_stored(Error error) {
  return {error.code, "all rows were sent, and may have been stored: " + error.message,
          std::string(kUnknownOutcome)};
}

asio::awaitable<Result<std::uint64_t>> send_all(SessionPtr session, std::string sql,
                                                CopySource* source) {
  Result<CopySession::Shape> shape =
      co_await CopySession::begin(session, std::move(sql), Direction::kIn);
  if (!shape) co_return fail(std::move(shape.error()));
  CopyWriter writer(shape->format, shape->columns);
  for (bool more = true; more && !session->has_answer();) {
    Result<bool> asked = co_await ask(source, &writer);
    if (asked && !*asked) {
      writer.finish();
      if (auto checked = writer.check(); !checked) asked = fail(std::move(checked.error()));
    }
    if (!asked) {
      co_await CopySession::abort(session);
      co_return fail(with_state(std::move(asked.error()), *session, "undone"));
    }
    more = *asked;
    Result<void> sent = co_await CopySession::put(session, writer.buffer());
    if (!sent) co_return fail(std::move(sent.error()));
    writer.clear();
    // A fast server never lets a fast source wait: the loop is for others, too, and for our timer.
    co_await asio::post(asio::use_awaitable);
  }
  const bool is_whole = !session->has_answer();
  Result<std::uint64_t> stored = co_await CopySession::finish(session, Direction::kIn);
  if (!stored && is_whole && stored.error().poisons_connection()) {
    co_return fail(maybe_stored(std::move(stored.error())));
  }
  if (!stored) co_return fail(std::move(stored.error()));
  co_return same_count(writer.rows(), *stored, "sent");
}

asio::awaitable<Result<std::uint64_t>> receive_all(SessionPtr session, std::string sql,
                                                   CopySink* sink) {
  Result<CopySession::Shape> shape =
      co_await CopySession::begin(session, std::move(sql), Direction::kOut);
  if (!shape) co_return fail(std::move(shape.error()));
  CopyReader reader(shape->format, shape->columns);
  for (bool more = true; more;) {
    Result<bool> filled = co_await CopySession::fill(session, &reader);
    if (!filled) co_return fail(std::move(filled.error()));
    more = *filled;
    if (reader.rows().empty()) continue;
    Result<void> taken = co_await give(sink, &reader.rows());
    if (!taken) {
      co_await CopySession::abort(session);
      co_return fail(with_state(std::move(taken.error()), *session, "ended"));
    }
    reader.clear();
    co_await asio::post(asio::use_awaitable);  // As in send_all.
  }
  Result<std::uint64_t> sent = co_await CopySession::finish(session, Direction::kOut);
  if (!sent) co_return fail(std::move(sent.error()));
  if (auto whole = reader.finish(); !whole) co_return fail(std::move(whole.error()));
  co_return same_count(reader.total(), *sent, "received");
}

// What the caller is told who left before the end.
Error left_early(const CopySession& session, Direction direction, bool is_cancelled,
                 milliseconds limit) {
  Error error{is_cancelled ? Errc::kCancelled : Errc::kTimeout,
              is_cancelled ? "the caller gave the COPY up"
                           : fmt::format("the COPY was not over within {}", format_duration(limit)),
              {}};
  if (direction == Direction::kIn && session.phase() == Phase::kEnding) return maybe_stored(error);
  return error;
}

asio::awaitable<Result<std::uint64_t>> run(SessionPtr session, std::string sql, Direction direction,
                                           CopySource source, CopySink sink, milliseconds limit) {
  Result<void> entered = co_await CopySession::enter(session, limit);
  if (!entered) co_return fail(std::move(entered.error()));
  Turn turn(session);
  auto work = direction == Direction::kIn ? send_all(session, std::move(sql), &source)
                                          : receive_all(session, std::move(sql), &sink);
  auto ended = co_await with_timeout(std::move(work), limit);
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  const bool is_cancelled = cancellation.cancelled() != asio::cancellation_type::none;
  turn.is_over();
  if (session->phase() == Phase::kIdle && ended) co_return std::move(*ended);
  if (ended && !*ended && ended->error().poisons_connection()) {
    // What came cannot be read, so nothing that follows can.
    session->shut_down(ended->error());
    co_return std::move(*ended);
  }
  Error error = left_early(*session, direction, is_cancelled, limit);
  session->abort_later();
  co_return fail(std::move(error));
}

}  // namespace

Copier::Copier(std::shared_ptr<CopySession> session) noexcept : session_(std::move(session)) {}

Copier::~Copier() { close(); }

asio::awaitable<Result<std::unique_ptr<Copier>>> Copier::connect(Config config) {
  const auto executor = co_await asio::this_coro::executor;
  Result<ConnectionPtr> connection = co_await log_in(config);
  if (!connection) co_return fail(std::move(connection.error()));
  auto session = std::make_shared<CopySession>(executor, std::move(*connection), config);
  co_return std::unique_ptr<Copier>(new Copier(std::move(session)));
}

// These are no coroutines themselves: what they return holds the session, never the Copier.

asio::awaitable<Result<std::uint64_t>> Copier::copy_in(std::string sql, CopySource source,
                                                       Timeout timeout) {
  return run(session_, std::move(sql), Direction::kIn, std::move(source), {},
             timeout.value_or(session_->config().statement_timeout));
}

asio::awaitable<Result<std::uint64_t>> Copier::copy_out(std::string sql, CopySink sink,
                                                        Timeout timeout) {
  return run(session_, std::move(sql), Direction::kOut, {}, std::move(sink),
             timeout.value_or(session_->config().statement_timeout));
}

void Copier::close() {
  session_->shut_down({Errc::kUnavailable, "the connection was closed by its owner", {}});
}

bool Copier::is_open() const noexcept { return session_->is_open(); }

int Copier::backend_pid() const noexcept { return session_->backend_pid(); }

}  // namespace plimsoll::pg
