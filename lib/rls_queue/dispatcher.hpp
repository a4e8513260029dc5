#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/core/result.hpp"
#include "lib/rls_queue/config.hpp"
#include "lib/rls_queue/fair_queue.hpp"
#include "lib/rls_queue/lanes.hpp"
#include "lib/rls_queue/link.hpp"

namespace plimsoll::rls {

class Dispatcher;

/// One job on its way to a connection, and the coroutine that waits for it.
class Ticket final : public Waiting {
 public:
  Ticket(std::string tenant, std::uint64_t caller, std::size_t cost, TimePoint deadline)
      : Waiting(std::move(tenant), cost), caller_(caller), deadline_(deadline) {}

 private:
  friend class Dispatcher;
  friend class Place;

  [[nodiscard]] bool is_settled() const noexcept { return link_ != nullptr || refusal_; }

  std::uint64_t caller_;
  TimePoint deadline_;
  Lanes::Lane* lane_ = nullptr;
  LinkPtr link_;                  ///< Where it was placed,
  std::optional<Error> refusal_;  ///< or why it was not.
  asio::any_completion_handler<void()> resume_;
};
using TicketPtr = std::shared_ptr<Ticket>;

/// A job's place on a connection, given back at destruction.
class Place {
 public:
  Place(std::shared_ptr<Dispatcher> dispatcher, TicketPtr ticket) noexcept;
  Place(Place&&) noexcept = default;
  Place& operator=(Place&&) = delete;
  ~Place();

  [[nodiscard]] Link& link() const noexcept { return *ticket_->link_; }

 private:
  std::shared_ptr<Dispatcher> dispatcher_;
  TicketPtr ticket_;
};

/// Which job goes to which connection, and when. Keeps the connections: one that is lost is made
/// anew in the background, while jobs that were not sent wait for it.
///
/// A place that comes free is given on the spot, by resuming the coroutine of the job whose turn it
/// is. This happens while a connection hands out answers, so what the resumed jobs send travels
/// together (Session::settle).
///
/// Thread safety: none; all calls on the executor.
class Dispatcher : public std::enable_shared_from_this<Dispatcher> {
 public:
  /// Opens all connections, one after the other. Errors: as connect_link.
  [[nodiscard]] static asio::awaitable<Result<std::shared_ptr<Dispatcher>>> open(
      asio::any_io_executor executor, Config config, std::string probe);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Waits for a place. Errors: kBusy (too many wait), kTimeout (no place by the ticket's
  /// deadline), kUnavailable (no connection by then, or closed), kCancelled, and those of
  /// connecting that do not pass by themselves (kRefused, kNotFound).
  [[nodiscard]] static asio::awaitable<Result<Place>> enter(std::shared_ptr<Dispatcher> self,
                                                            TicketPtr ticket);

  /// Makes anew what was found lost by others than jobs.
  void look_after_links();

  /// Ends everything: what waits and what is under way gets kUnavailable.
  void close();

  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  /// Those that are open.
  [[nodiscard]] std::vector<LinkPtr> links() const;
  /// The sum over all connections, those lost included.
  [[nodiscard]] pg::Counters counters() const noexcept;

 private:
  friend class Place;

  /// Where a connection belongs, also while it is being made anew.
  struct Seat {
    explicit Seat(asio::any_io_executor executor) : pause(std::move(executor)) {}
    LinkPtr link;
    asio::steady_timer pause;
  };

  Dispatcher(asio::any_io_executor executor, Config config, std::string probe);

  [[nodiscard]] static asio::awaitable<void> settled(std::shared_ptr<Dispatcher> self,
                                                     TicketPtr ticket);
  [[nodiscard]] static asio::awaitable<void> mend(std::shared_ptr<Dispatcher> self,
                                                  std::size_t seat);

  void admit(const TicketPtr& ticket);
  [[nodiscard]] bool has_room(const Link& link) const noexcept;
  [[nodiscard]] bool fits(const Ticket& ticket) const noexcept;
  void place(Ticket& ticket);
  void leave(Ticket& ticket);
  void dispatch();
  void resume(Ticket& ticket);

  void refuse(Ticket& ticket, Error why);
  void refuse_all(const Error& why);
  void give_up(const TicketPtr& ticket);
  void resume_later(Ticket& ticket);
  void on_lost(const Link& link);

  void arm(TimePoint deadline);
  void disarm();
  void on_deadline();

  asio::any_io_executor executor_;
  Config config_;
  std::string probe_;
  std::vector<std::unique_ptr<Seat>> seats_;
  FairQueue waiting_;
  Lanes lanes_;
  std::size_t under_way_ = 0;
  pg::Counters retired_{};
  std::optional<Error> last_failure_;  ///< Of making a connection anew.
  asio::steady_timer deadline_;
  TimePoint armed_for_ = TimePoint::max();
  bool is_dispatching_ = false;
  bool is_closed_ = false;
};

}  // namespace plimsoll::rls
