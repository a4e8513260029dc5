#include "lib/pg/session.hpp"

#include <fmt/format.h>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "lib/core/units.hpp"
#include "lib/pg/canceller.hpp"
#include "lib/pg/sqlstate.hpp"

namespace plimsoll::pg {
namespace {

using asio::posix::stream_descriptor;

constexpr auto kPatience = std::chrono::milliseconds(50);
constexpr auto kLongest = std::chrono::hours(24 * 365);  // What a clock can add without overflow.

}  // namespace

void Call::on_done() noexcept {
  if (resume_) session_.ready_.push_back(std::move(resume_));
}

Session::Session(asio::any_io_executor executor, ConnectionPtr connection, const Config& config)
    : executor_(std::move(executor)),
      config_(config),
      connection_(std::move(connection)),
      backend_pid_(PQbackendPID(connection_.get())),
      server_version_(PQserverVersion(connection_.get())),
      socket_(executor_, PQsocket(connection_.get())),
      patience_(executor_),
      queue_(config.max_in_flight),
      deadline_(executor_) {}

std::shared_ptr<Session> Session::make(asio::any_io_executor executor, ConnectionPtr connection,
                                       const Config& config) {
  const std::shared_ptr<Session> session(
      new Session(std::move(executor), std::move(connection), config));
  session->registry().add(session.get(), session);
  return session;
}

Session::~Session() {
  registry().remove(this);
  if (is_open()) socket_.release();
}

SessionRegistry<Session>& Session::registry() const {
  return asio::use_service<SessionRegistry<Session>>(
      asio::query(executor_, asio::execution::context));
}

bool Session::is_idle() const noexcept {
  return !queue_.has_in_flight() && !queue_.has_waiting() && !queue_.in_block();
}

asio::awaitable<Result<void>> Session::run(std::shared_ptr<Session> self, CallPtr call,
                                           std::chrono::milliseconds limit) {
  if (auto started = self->start(call, limit); !started) co_return started;
  if (!call->is_done()) co_await finished(call);
  if (call->given_up_) co_return fail(std::move(*call->given_up_));
  co_return Result<void>{};
}

Result<void> Session::start(const CallPtr& call, std::chrono::milliseconds limit) {
  if (!is_open()) {
    Error unsent = reason_;
    unsent.unsent = true;
    return fail(std::move(unsent));
  }
  if (auto added = queue_.add(call); !added) return added;
  call->limit_ = limit;
  call->deadline_ = Clock::now() + std::min<Nanoseconds>(limit, kLongest);
  if (call->deadline_ < armed_for_) arm(call->deadline_);
  if (!is_settling_) {
    pump();
    if (!ready_.empty()) settle_later();
  }
  return {};
}

asio::awaitable<void> Session::finished(CallPtr call) {
  auto store = [](asio::any_completion_handler<void()> handler, CallPtr waiting) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) {
      slot.assign([life = waiting->session_.weak_from_this(),
                   weak = std::weak_ptr<Call>(waiting)](asio::cancellation_type) {
        const auto session = life.lock();
        const auto cancelled = weak.lock();
        if (session == nullptr || cancelled == nullptr || cancelled->is_done()) return;
        session->give_up(cancelled,
                         {Errc::kCancelled, "the caller gave up before the answer came", {}});
        session->settle_later();
      });
    }
    waiting->resume_.swap(handler);  // Boost 1.81 would assign itself without end.
  };
  return asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
      std::move(store), asio::use_awaitable, std::move(call));
}

void Session::give_up(const CallPtr& call, Error why) {
  if (call->given_up_) return;
  call->given_up_ = std::move(why);
  if (call->resume_) ready_.push_back(std::move(call->resume_));
  if (queue_.withdraw(call) == GroupQueue::Withdrawn::kNow) cancel_head();
}

// Resumes whom the last answers concern, then sends what they ask next.
void Session::settle() {
  do {
    resume_ready();
    if (is_open()) pump();
  } while (!ready_.empty());
  if (!queue_.has_in_flight() && !queue_.has_waiting()) disarm();
}

void Session::resume_ready() {
  // A coroutine may end in an exception that its owner lets pass through the loop. What is left to
  // do is then done by a handler of its own.
  struct Rest {
    Session& session;
    bool is_done = false;
    ~Rest() {
      session.is_settling_ = false;
      if (!is_done) session.settle_later();
    }
  };
  is_settling_ = true;
  Rest rest{*this};
  while (!ready_.empty()) {
    auto resume = std::move(ready_.front());
    ready_.pop_front();
    std::move(resume)();
  }
  rest.is_done = true;
}

void Session::settle_later() {
  if (is_settling_) return;
  asio::post(executor_, [self = shared_from_this()] { self->settle(); });
}

void Session::forget_waiters() noexcept {
  ready_.clear();
  for (const auto& group : queue_.pending()) {
    static_cast<Call&>(*group).resume_ = nullptr;
  }
}

void Session::arm(TimePoint deadline) {
  armed_for_ = deadline;
  deadline_.expires_at(deadline);
  deadline_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->on_deadline();
  });
}

void Session::disarm() {
  if (armed_for_ == TimePoint::max()) return;
  armed_for_ = TimePoint::max();
  deadline_.cancel();
}

void Session::on_deadline() {
  if (!is_open()) return;
  const auto now = Clock::now();
  auto next = TimePoint::max();
  for (const auto& group : queue_.pending()) {
    const auto call = std::static_pointer_cast<Call>(group);
    if (call->given_up_ || call->is_done()) continue;
    if (call->deadline_ > now) {
      next = std::min(next, call->deadline_);
    } else {
      give_up(
          call,
          {Errc::kTimeout, fmt::format("no answer within {}", format_duration(call->limit_)), {}});
    }
  }
  armed_for_ = TimePoint::max();
  if (next != TimePoint::max()) arm(next);
  settle();
}

void Session::shut_down(const Error& reason) {
  if (!is_open()) return;
  // A statement that runs on with nobody to answer would keep its locks. A pooler forgets the key
  // of a client that left, so there the connection must outlive the request.
  const bool is_busy = queue_.has_in_flight();
  if (is_busy && !config_.pooled) cancel_and_forget(connection_.get());
  auto connection = part_with(reason);
  if (is_busy && config_.pooled) cancel_and_finish(std::move(connection));
  if (!ready_.empty()) settle_later();
}

void Session::lose(Error reason) { part_with(std::move(reason)).reset(); }

ConnectionPtr Session::part_with(Error reason) {
  if (!is_open()) return nullptr;
  reason_ = std::move(reason);
  socket_.release();
  writing_.reset();
  cancelling_.reset();
  patience_.cancel();
  disarm();
  auto connection = std::move(connection_);
  queue_.fail_all(reason_);
  return connection;
}

void Session::lose_with_libpq_message() {
  auto message = one_line(PQerrorMessage(connection_.get()));
  if (message.empty()) message = "the connection to the server was lost";
  lose({Errc::kUnavailable, std::move(message), {}});
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
                            self->settle();
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
