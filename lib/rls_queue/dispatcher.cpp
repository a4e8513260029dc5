#include "lib/rls_queue/dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "lib/core/with_timeout.hpp"

namespace plimsoll::rls {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{10};
constexpr milliseconds kLongestPause{1000};

/// Whether trying again can help by itself.
bool is_passing(Errc code) noexcept {
  return code == Errc::kUnavailable || code == Errc::kTimeout || code == Errc::kBusy;
}

Config with_own_limits(Config config) {
  if (config.subject != Subject::kPool) config.connections = 1;
  if (config.subject == Subject::kSerial) config.depth = 1;
  return config;
}

}  // namespace

Place::Place(std::shared_ptr<Dispatcher> dispatcher, TicketPtr ticket) noexcept
    : dispatcher_(std::move(dispatcher)), ticket_(std::move(ticket)) {}

Place::~Place() {
  if (dispatcher_ != nullptr) dispatcher_->leave(*ticket_);
}

Dispatcher::Dispatcher(asio::any_io_executor executor, Config config, std::string probe)
    : executor_(std::move(executor)),
      config_(with_own_limits(std::move(config))),
      probe_(std::move(probe)),
      waiting_(config_.max_waiting),
      deadline_(executor_) {
  for (std::size_t i = 0; i < config_.connections; ++i) {
    seats_.push_back(std::make_unique<Seat>(executor_));
  }
}

asio::awaitable<Result<std::shared_ptr<Dispatcher>>> Dispatcher::open(
    asio::any_io_executor executor, Config config, std::string probe) {
  std::shared_ptr<Dispatcher> self(
      new Dispatcher(std::move(executor), std::move(config), std::move(probe)));
  for (const auto& seat : self->seats_) {
    auto link = co_await connect_link(self->config_.connection, self->probe_);
    if (!link) co_return fail(std::move(link.error()));
    seat->link = std::move(*link);
  }
  co_return self;
}

asio::awaitable<Result<Place>> Dispatcher::enter(std::shared_ptr<Dispatcher> self,
                                                 TicketPtr ticket) {
  self->admit(ticket);
  if (!ticket->is_settled()) co_await settled(self, ticket);
  if (ticket->refusal_) co_return fail(std::move(*ticket->refusal_));
  co_return Place(std::move(self), std::move(ticket));
}

asio::awaitable<void> Dispatcher::settled(std::shared_ptr<Dispatcher> self, TicketPtr ticket) {
  auto store = [](asio::any_completion_handler<void()> handler,
                  const std::weak_ptr<Dispatcher>& owner, const TicketPtr& waiting) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) {
      slot.assign([owner, weak = std::weak_ptr<Ticket>(waiting)](asio::cancellation_type) {
        const auto dispatcher = owner.lock();
        const auto cancelled = weak.lock();
        if (dispatcher != nullptr && cancelled != nullptr) dispatcher->give_up(cancelled);
      });
    }
    waiting->resume_.swap(handler);  // Boost 1.81 would assign itself without end.
  };
  return asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
      std::move(store), asio::use_awaitable, std::weak_ptr<Dispatcher>(self), std::move(ticket));
}

void Dispatcher::admit(const TicketPtr& ticket) {
  if (is_closed_) {
    return refuse(*ticket, {Errc::kUnavailable, "the queue was closed by its owner", {}});
  }
  if (seats_.size() > 1) ticket->lane_ = &lanes_.join(ticket->key(), ticket->caller_);
  if (waiting_.empty() && fits(*ticket)) return place(*ticket);
  if (const auto out = waiting_.add(ticket)) {
    refuse(static_cast<Ticket&>(*out),
           {Errc::kBusy,
            fmt::format("{} jobs wait, as many as may, and no tenant has more of them than this "
                        "one ({}); retry after a pause",
                        waiting_.size(), waiting_.size_of(out->key())),
            {}});
    if (out == ticket) return;
  }
  if (ticket->deadline_ < armed_for_) arm(ticket->deadline_);
  dispatch();
}

bool Dispatcher::has_room(const Link& link) const noexcept {
  return link.in_flight < config_.depth && link.connection->is_open();
}

bool Dispatcher::fits(const Ticket& ticket) const noexcept {
  if (ticket.lane_ != nullptr && ticket.lane_->link() != nullptr &&
      ticket.lane_->link()->connection->is_open()) {
    return has_room(*ticket.lane_->link());
  }
  return std::ranges::any_of(
      seats_, [&](const auto& seat) { return seat->link != nullptr && has_room(*seat->link); });
}

// REQUIRES: fits(ticket).
void Dispatcher::place(Ticket& ticket) {
  if (ticket.lane_ != nullptr && ticket.lane_->link() != nullptr &&
      ticket.lane_->link()->connection->is_open()) {
    ticket.link_ = ticket.lane_->link();
  } else {
    for (const auto& seat : seats_) {
      if (seat->link == nullptr || !has_room(*seat->link)) continue;
      if (ticket.link_ == nullptr || seat->link->in_flight < ticket.link_->in_flight) {
        ticket.link_ = seat->link;
      }
    }
  }
  if (ticket.lane_ != nullptr) ticket.lane_->place(ticket.link_);
  ++ticket.link_->in_flight;
  ++under_way_;
}

void Dispatcher::leave(Ticket& ticket) {
  --ticket.link_->in_flight;
  --under_way_;
  if (ticket.lane_ != nullptr) lanes_.leave(*ticket.lane_, ticket.link_);
  if (!ticket.link_->connection->is_open()) on_lost(*ticket.link_);
  dispatch();
  if (under_way_ == 0 && waiting_.empty()) disarm();
}

// A job that is resumed may leave again at once, or bring the next one. Both find
// `is_dispatching_` set and leave the rest to the loop here, so the stack does not grow.
void Dispatcher::dispatch() {
  if (is_dispatching_) return;
  is_dispatching_ = true;
  while (!is_closed_) {
    const auto next =
        waiting_.next([&](const Waiting& item) { return fits(static_cast<const Ticket&>(item)); });
    if (next == nullptr) break;
    auto& ticket = static_cast<Ticket&>(*next);
    place(ticket);
    resume(ticket);
  }
  is_dispatching_ = false;
}

void Dispatcher::resume(Ticket& ticket) {
  if (!ticket.resume_) return;  // It is about to look by itself.
  auto handler = std::move(ticket.resume_);
  try {
    std::move(handler)();
  } catch (...) {
    // Thrown by whoever the resumed coroutine ended in, and meant for the loop, not for us.
    asio::post(executor_, [thrown = std::current_exception()] { std::rethrow_exception(thrown); });
  }
}

void Dispatcher::resume_later(Ticket& ticket) {
  if (!ticket.resume_) return;
  asio::post(executor_, [handler = std::move(ticket.resume_)]() mutable { std::move(handler)(); });
}

void Dispatcher::refuse(Ticket& ticket, Error why) {
  ticket.refusal_ = std::move(why);
  ticket.refusal_->unsent = true;
  if (ticket.lane_ != nullptr) lanes_.leave(*std::exchange(ticket.lane_, nullptr), nullptr);
  resume_later(ticket);
}

void Dispatcher::refuse_all(const Error& why) {
  while (const auto item = waiting_.next([](const Waiting&) { return true; })) {
    refuse(static_cast<Ticket&>(*item), why);
  }
}

void Dispatcher::give_up(const TicketPtr& ticket) {
  if (!waiting_.remove(ticket)) return;
  refuse(*ticket, {Errc::kCancelled, "the caller gave up before the job was sent", {}});
}

void Dispatcher::arm(TimePoint deadline) {
  armed_for_ = deadline;
  deadline_.expires_at(deadline);
  deadline_.async_wait([life = weak_from_this()](const boost::system::error_code& error) {
    const auto self = life.lock();
    if (!error && self != nullptr) self->on_deadline();
  });
}

void Dispatcher::disarm() {
  if (armed_for_ == TimePoint::max()) return;
  armed_for_ = TimePoint::max();
  deadline_.cancel();
}

void Dispatcher::on_deadline() {
  const auto now = Clock::now();
  std::vector<WaitingPtr> late;
  auto next = TimePoint::max();
  waiting_.for_each([&](const WaitingPtr& item) {
    const auto deadline = static_cast<const Ticket&>(*item).deadline_;
    if (deadline <= now) {
      late.push_back(item);
    } else {
      next = std::min(next, deadline);
    }
  });
  const bool is_cut_off = links().empty();
  for (const auto& item : late) {
    waiting_.remove(item);
    if (is_cut_off) {
      refuse(static_cast<Ticket&>(*item),
             {Errc::kUnavailable,
              fmt::format("the job was not sent in its time, since there is no connection: {}",
                          last_failure_ ? last_failure_->message : "it is being made"),
              {}});
    } else {
      refuse(static_cast<Ticket&>(*item),
             {Errc::kTimeout,
              fmt::format("the job was not sent in its time: {} others wait", waiting_.size()),
              {}});
    }
  }
  armed_for_ = TimePoint::max();
  if (next != TimePoint::max()) arm(next);
}

void Dispatcher::on_lost(const Link& link) {
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i]->link.get() != &link) continue;
    retired_ += link.connection->counters();
    seats_[i]->link = nullptr;
    if (!is_closed_) asio::co_spawn(executor_, mend(shared_from_this(), i), asio::detached);
  }
}

void Dispatcher::look_after_links() {
  for (const auto& seat : seats_) {
    const auto link = seat->link;
    if (link != nullptr && !link->connection->is_open()) on_lost(*link);
  }
}

asio::awaitable<void> Dispatcher::mend(std::shared_ptr<Dispatcher> self, std::size_t number) {
  Seat& seat = *self->seats_[number];
  milliseconds pause = kFirstPause;
  while (!self->is_closed_) {
    auto link = co_await connect_link(self->config_.connection, self->probe_);
    if (self->is_closed_) co_return;
    if (link) {
      seat.link = std::move(*link);
      self->last_failure_.reset();
      self->dispatch();
      co_return;
    }
    self->last_failure_ = link.error();
    if (!is_passing(link.error().code) && self->links().empty()) self->refuse_all(link.error());
    seat.pause.expires_after(pause);
    co_await seat.pause.async_wait(kAsValue);
    pause = std::min(pause * 2, kLongestPause);
  }
}

void Dispatcher::close() {
  if (std::exchange(is_closed_, true)) return;
  refuse_all({Errc::kUnavailable, "the queue was closed by its owner", {}});
  disarm();
  for (const auto& seat : seats_) {
    seat->pause.cancel();
    if (seat->link != nullptr) seat->link->connection->close();
  }
}

std::vector<LinkPtr> Dispatcher::links() const {
  std::vector<LinkPtr> open;
  for (const auto& seat : seats_) {
    if (seat->link != nullptr && seat->link->connection->is_open()) open.push_back(seat->link);
  }
  return open;
}

pg::Counters Dispatcher::counters() const noexcept {
  pg::Counters sum = retired_;
  for (const auto& seat : seats_) {
    if (seat->link != nullptr) sum += seat->link->connection->counters();
  }
  return sum;
}

}  // namespace plimsoll::rls
