#include "lib/core/with_timeout.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace plimsoll {
namespace {

using namespace std::chrono_literals;

asio::awaitable<int> answer_after(std::chrono::milliseconds pause) {
  asio::steady_timer timer(co_await asio::this_coro::executor, pause);
  co_await timer.async_wait(kAsValue);
  co_return 42;
}

std::optional<int> race(std::chrono::milliseconds work, std::chrono::milliseconds limit) {
  asio::io_context io;
  std::optional<int> result;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        auto raced = co_await with_timeout(answer_after(work), limit);
        result = raced;
      },
      asio::detached);
  io.run_for(5s);
  return result;
}

TEST(WithTimeout, ReturnsTheValueWhenTheWorkIsFirst) { EXPECT_EQ(race(1ms, 4s), 42); }

TEST(WithTimeout, ReturnsNothingWhenTheTimeIsUpFirst) { EXPECT_EQ(race(4s, 10ms), std::nullopt); }

}  // namespace
}  // namespace plimsoll
