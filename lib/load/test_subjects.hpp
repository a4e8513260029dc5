#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <string>

#include "lib/core/with_timeout.hpp"
#include "lib/load/runner.hpp"

namespace plimsoll::load {

/// Suspends for `length`, or until cancelled.
inline asio::awaitable<void> pause(Nanoseconds length) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, length);
  const auto waited = co_await timer.async_wait(kAsValue);
  static_cast<void>(waited);
}

inline asio::awaitable<Outcome> answer_after_a_millisecond(OpContext) {
  co_await pause(std::chrono::milliseconds(1));
  co_return Outcome{};
}

inline asio::awaitable<Outcome> answer_at_once(OpContext) { co_return Outcome{}; }

inline Outcome outcome(Outcome::Kind kind, std::string error_kind = {}) {
  Outcome made;
  made.kind = kind;
  made.items = kind == Outcome::Kind::kOk ? 1 : 0;
  made.error_kind = std::move(error_kind);
  return made;
}

/// Every reason of the report in one string, for a failed expectation.
inline std::string reasons(const Report& report) {
  std::string all;
  for (const auto& reason : report.validity.reasons) all += reason + "; ";
  return all;
}

}  // namespace plimsoll::load
