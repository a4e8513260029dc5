#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/core/result.hpp"
#include "lib/kv_store/statements.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/group_commit.hpp"

namespace plimsoll::kv {

namespace asio = boost::asio;

/// One connection that many calls share, made when it is first needed and made anew after it broke.
///
/// A call that breaks with it gets the error and is never sent a second time here. Calls that find
/// no connection wait for one attempt that they share. After an attempt that failed none is made
/// for `kPause`; calls get its error at once then.
///
/// Thread safety: none; all calls on the executor.
/// Errors: those of Connection and Connection::connect; kRefused where the server would acknowledge
/// what it has not yet on disk, unless the owner allows it.
class Link : public std::enable_shared_from_this<Link> {
 public:
  static constexpr std::chrono::milliseconds kPause{50};

  Link(asio::any_io_executor executor, pg::Config config, Statement durability, bool may_be_weak);

  [[nodiscard]] static asio::awaitable<Result<pg::Rows>> query(std::shared_ptr<Link> self,
                                                               pg::Query query);
  [[nodiscard]] static asio::awaitable<Result<void>> script(std::shared_ptr<Link> self,
                                                            std::string sql);
  /// For GroupCommit.
  [[nodiscard]] static pg::BatchLane lane(std::shared_ptr<Link> self);

  /// Ends the connection; further calls fail with kUnavailable.
  void close();
  /// Connections that were made so far.
  [[nodiscard]] std::uint64_t connections() const noexcept { return connections_; }
  /// Of all connections, those gone included.
  [[nodiscard]] pg::Counters counters() const noexcept;

 private:
  using ConnectionPtr = std::shared_ptr<pg::Connection>;

  [[nodiscard]] static asio::awaitable<Result<ConnectionPtr>> acquire(std::shared_ptr<Link> self);
  [[nodiscard]] static asio::awaitable<Result<ConnectionPtr>> connect(std::shared_ptr<Link> self);
  [[nodiscard]] static asio::awaitable<pg::LaneAnswer> send(std::shared_ptr<Link> self,
                                                            std::vector<pg::Query> queries,
                                                            std::chrono::milliseconds limit);
  void retire();

  asio::any_io_executor executor_;
  pg::Config config_;
  Statement durability_;
  bool may_be_weak_;
  bool is_closed_ = false;
  bool is_connecting_ = false;
  ConnectionPtr connection_;
  std::vector<std::shared_ptr<asio::steady_timer>> waiting_;  ///< For the attempt in progress.
  std::optional<Error> last_error_;
  TimePoint not_before_{};
  std::uint64_t connections_ = 0;
  pg::Counters retired_;
};

}  // namespace plimsoll::kv
