#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

namespace plimsoll {

namespace asio = boost::asio;

/// The completion token of every asynchronous call here: errors come back as values, nothing
/// throws.
inline constexpr auto kAsValue = asio::as_tuple(asio::use_awaitable);

/// Runs `work` for at most `limit`. Returns its value, or nullopt when the time was up first;
/// `work` has then been cancelled (terminal cancellation) and its frame is gone. Boost 1.81 has no
/// `cancel_after`.
///
/// Errors: none of its own. REQUIRES: everything `work` waits on honours cancellation.
template <class T>
[[nodiscard]] asio::awaitable<std::optional<T>> with_timeout(asio::awaitable<T> work,
                                                             std::chrono::nanoseconds limit) {
  using asio::experimental::awaitable_operators::operator||;
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, limit);
  auto first = co_await (std::move(work) || timer.async_wait(kAsValue));
  if (first.index() == 0) co_return std::optional<T>(std::move(std::get<0>(first)));
  co_return std::nullopt;
}

}  // namespace plimsoll
