#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/lease_claims/stage.hpp"
#include "lib/lease_claims/claimer.hpp"
#include "lib/pg/connection.hpp"

namespace plimsoll::bench {

namespace asio = boost::asio;

/// What one caller does again and again.
enum class Act { kClaim, kRenew, kRelease, kFire };

/// "claim_one", as in the names of the cases.
[[nodiscard]] std::string_view name(Act act) noexcept;

/// One caller's operations on one connection. A batch of 1 uses the calls for one lease, a larger
/// one those for many. Claims expire after a millisecond, so that a tenant never runs dry; what is
/// renewed, released or fired comes from a stock that `restock` claims beforehand.
///
/// Thread safety: none; on the connection's executor.
class Acts {
 public:
  /// REQUIRES: all three outlive this object and its coroutines; `batch` divides 100.
  Acts(const Stage& stage, const lease::Claimer& claimer, pg::Connection& connection,
       std::size_t batch);

  /// Goes on by another connection; the stock stays. REQUIRES: as the constructor; no call open.
  void use(pg::Connection& connection) noexcept { connection_ = &connection; }

  /// True when the next `steps` steps need no `restock`.
  [[nodiscard]] bool stocked(Act act, std::size_t steps = 1) const noexcept;
  /// Claims what the next steps use up: 1,000 leases or so.
  [[nodiscard]] asio::awaitable<Result<void>> restock(Act act);
  /// One operation on `batch` rows. An answer for fewer rows is an error.
  [[nodiscard]] asio::awaitable<Result<void>> step(Act act);

  /// Claims that were answered, of this object and in all.
  [[nodiscard]] std::uint64_t claimed() const noexcept { return claimed_; }
  [[nodiscard]] std::uint64_t fired() const noexcept { return fired_; }

 private:
  [[nodiscard]] asio::awaitable<Result<void>> claim();
  [[nodiscard]] asio::awaitable<Result<std::size_t>> write(Act act,
                                                           std::vector<lease::Lease> leases);
  [[nodiscard]] asio::awaitable<Result<std::size_t>> write_one(Act act, lease::Lease lease);

  const Stage& stage_;
  const lease::Claimer& claimer_;
  lease::Claimer stocker_;
  pg::Connection* connection_;
  std::size_t batch_;
  std::uint64_t turn_ = 0;
  std::vector<std::vector<lease::Lease>> stock_;  // Each as large as the batch.
  std::size_t renewed_ = 0;
  std::uint64_t claimed_ = 0;
  std::uint64_t fired_ = 0;
};

/// One connection on a loop of its own, which a plain function drives call by call. The loop runs
/// on the calling thread, so an operation costs no hop.
class Caller {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Caller>> connect(const std::string& dsn);

  template <class T>
  T run(asio::awaitable<T> work) {
    std::optional<T> value;
    std::exception_ptr thrown;
    asio::co_spawn(loop_, std::move(work), [&](std::exception_ptr error, T result) {
      thrown = error;
      value.emplace(std::move(result));
    });
    loop_.restart();
    loop_.run();
    if (thrown) std::rethrow_exception(thrown);
    return std::move(*value);
  }
  [[nodiscard]] pg::Connection& connection() noexcept { return *connection_; }

 private:
  asio::io_context loop_{1};
  std::unique_ptr<pg::Connection> connection_;
};

}  // namespace plimsoll::bench
