#include "lib/redis/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "lib/core/units.hpp"

namespace plimsoll::redis {
namespace {

constexpr auto kLongest = std::chrono::hours(24 * 365);  // What a clock can add without overflow.
/// Resumed before what they ask is written: the server works on it while the next are resumed.
constexpr std::size_t kResumedPerWrite = 16;

}  // namespace

void Call::on_done() noexcept {
  if (resume_) session_.ready_.push_back(std::move(resume_));
}

Result<void> Call::ended() {
  if (given_up_) return fail(std::move(*given_up_));
  return {};
}

Session::Session(Socket socket, const Config& config)
    : executor_(socket.get_executor()),
      call_timeout_(config.call_timeout),
      max_silence_(config.max_silence),
      socket_(std::move(socket)),
      queue_(config.max_in_flight),
      reader_(config.max_reply_bytes),
      deadline_(executor_) {}

std::shared_ptr<Session> Session::make(Socket socket, const Config& config) {
  const std::shared_ptr<Session> session(new Session(std::move(socket), config));
  session->registry().add(session.get(), session);
  return session;
}

Session::~Session() { registry().remove(this); }

SessionRegistry<Session>& Session::registry() const {
  return asio::use_service<SessionRegistry<Session>>(
      asio::query(executor_, asio::execution::context));
}

Counters Session::counters() const noexcept {
  Counters counters = queue_.counters();
  counters.commands -= forgotten_.commands;
  counters.errors -= forgotten_.errors;
  counters.round_trips -= forgotten_.round_trips;
  counters.bytes_sent = bytes_sent_ - forgotten_.bytes_sent;
  counters.bytes_received = bytes_received_ - forgotten_.bytes_received;
  return counters;
}

void Session::forget_counters() noexcept {
  forgotten_ = queue_.counters();
  forgotten_.bytes_sent = bytes_sent_;
  forgotten_.bytes_received = bytes_received_;
}

asio::awaitable<Result<void>> Session::run(std::shared_ptr<Session> self, CallPtr call,
                                           std::chrono::milliseconds limit) {
  if (auto started = self->start(call, limit); !started) co_return started;
  if (!call->is_done()) co_await finished(call);
  co_return call->ended();
}

Result<void> Session::start(const CallPtr& call, std::chrono::milliseconds limit) {
  if (!is_open()) return fail(reason_);
  const auto now = Clock::now();
  call->limit_ = limit;
  call->deadline_ = now + std::min<Nanoseconds>(limit, kLongest);
  if (!queue_.has_in_flight()) heard_ = now;
  queue_.add(call);
  const auto first = std::min(call->deadline_, silent_too_long());
  if (first < armed_for_) arm(first);
  if (!is_settling_) settle_later();
  return {};
}

TimePoint Session::silent_too_long() const noexcept {
  if (max_silence_.count() == 0) return TimePoint::max();
  return heard_ + std::min<Nanoseconds>(max_silence_, kLongest);
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
        session->give_up(cancelled, Errc::kCancelled, "the caller gave up before the answer came");
        session->settle_later();
      });
    }
    waiting->resume_.swap(handler);  // Boost 1.81 would assign itself without end.
  };
  return asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
      std::move(store), asio::use_awaitable, std::move(call));
}

void Session::give_up(const CallPtr& call, Errc code, std::string why) {
  if (call->given_up_) return;
  const bool was_sent = queue_.withdraw(call) == CallQueue::Withdrawn::kSent;
  Error error{code, std::move(why), {}};
  call->given_up_ = was_sent ? indeterminate(std::move(error)) : not_sent(std::move(error));
  if (call->resume_) ready_.push_back(std::move(call->resume_));
}

// Resumes whom the last answers concern, then sends what they ask next.
void Session::settle() {
  do {
    resume_ready();
    if (is_open()) pump();
  } while (!ready_.empty());
  if (is_idle()) disarm();
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
  for (std::size_t resumed = 0; !ready_.empty() && resumed < kResumedPerWrite; ++resumed) {
    auto resume = std::move(ready_.front());
    ready_.pop_front();
    std::move(resume)();
  }
  rest.is_done = true;
}

// By way of the loop, so that what others ask in this turn leaves with it.
void Session::settle_later() {
  if (is_settling_ || is_settle_posted_) return;
  is_settle_posted_ = true;
  asio::post(executor_, [self = shared_from_this()] {
    self->is_settle_posted_ = false;
    self->settle();
  });
}

void Session::forget_waiters() noexcept {
  ready_.clear();
  for (const auto& batch : queue_.pending()) {
    static_cast<Call&>(*batch).resume_ = nullptr;
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
  for (const auto& batch : queue_.pending()) {
    const auto call = std::static_pointer_cast<Call>(batch);
    if (call->given_up_ || call->is_done()) continue;
    if (call->deadline_ > now) {
      next = std::min(next, call->deadline_);
    } else {
      give_up(call, Errc::kTimeout,
              fmt::format("no answer within {}", format_duration(call->limit_)));
    }
  }
  armed_for_ = TimePoint::max();
  if (queue_.has_in_flight()) {
    next = std::min(next, silent_too_long());
    if (silent_too_long() <= now) {
      lose({Errc::kUnavailable,
            fmt::format("the server owes an answer and has said nothing for {}",
                        format_duration(max_silence_)),
            {}});
    }
  }
  if (is_open() && next != TimePoint::max()) arm(next);
  settle();
}

void Session::shut_down(const Error& reason) {
  if (!is_open()) return;
  lose(reason);
  if (!ready_.empty()) settle_later();
}

void Session::lose(Error reason) {
  if (!is_open()) return;
  is_open_ = false;
  reason_ = std::move(reason);
  writing_.reset();
  boost::system::error_code ignored;
  socket_.close(ignored);
  disarm();
  out_ = {};
  queue_.fail_all(reason_);
}

}  // namespace plimsoll::redis
