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

#include "bench/store_sql/stage.hpp"
#include "lib/core/rng.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/copy.hpp"
#include "lib/store_sql/store.hpp"

namespace plimsoll::bench {

namespace asio = boost::asio;

/// What one caller does again and again. Mixed is a read and an update of the same item.
enum class Act { kInsert, kUpdate, kMixed };

/// "insert", as in the names of the cases.
[[nodiscard]] std::string_view name(Act act) noexcept;

/// An act, and how many of it make an operation. 1: each statement is waited for by itself. More:
/// they are one pipeline and one transaction.
struct Task {
  Act act = Act::kInsert;
  std::size_t depth = 1;

  [[nodiscard]] std::string_view subject() const noexcept {
    return depth == 1 ? "plain" : "pipelined";
  }
};

/// One caller's operations on one connection, and what was acknowledged to it.
///
/// Thread safety: none; on the connection's executor.
class Acts {
 public:
  /// REQUIRES: all three outlive this object and its coroutines; a pipeline has no more parts than
  /// the stock has items.
  Acts(const Stage& stage, const store::Store& store, pg::Connection& connection, Task task,
       Rng draw);

  /// One operation. An answer other than the right one is an error.
  [[nodiscard]] asio::awaitable<Result<void>> step();

  /// Rows whose insert was acknowledged.
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  /// The amounts of these rows, and all acknowledged additions.
  [[nodiscard]] std::int64_t amounts() const noexcept { return amounts_; }

 private:
  [[nodiscard]] asio::awaitable<Result<void>> one();
  [[nodiscard]] asio::awaitable<Result<void>> many();
  [[nodiscard]] store::Change change(std::size_t part);
  [[nodiscard]] Result<void> right(const store::Content& content) const;

  const Stage& stage_;
  const store::Store& store_;
  pg::Connection& connection_;
  Task task_;
  Rng draw_;
  std::int64_t rows_ = 0;
  std::int64_t amounts_ = 0;
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
