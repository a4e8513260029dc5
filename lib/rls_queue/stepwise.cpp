#include "lib/rls_queue/stepwise.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

namespace plimsoll::rls {
namespace {

using Steps = std::vector<Result<pg::Rows>>;

asio::awaitable<void> roll_back(Place place) {
  auto& connection = *place.link().connection;
  pg::Query query("ROLLBACK");
  auto done = co_await connection.query(std::move(query));
  if (!done) connection.close();
}

// The failed statement's error, and nothing for those behind it. An error at the COMMIT is the last
// statement's, as in Connection::pipeline.
Steps with_failure(Steps steps, Error error, std::size_t count) {
  if (steps.size() == count) steps.pop_back();
  steps.emplace_back(fail(std::move(error)));
  while (steps.size() < count) {
    steps.emplace_back(fail(Errc::kCancelled, "not executed: an earlier statement failed"));
  }
  return steps;
}

}  // namespace

std::chrono::milliseconds time_left(TimePoint deadline) noexcept {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return std::max(left, std::chrono::milliseconds{1});
}

asio::awaitable<Steps> run_stepwise(Place place, std::vector<pg::Query> group, TimePoint deadline) {
  const std::size_t count = group.size();
  auto& connection = *place.link().connection;
  group.insert(group.begin(), pg::Query("BEGIN"));
  group.emplace_back("COMMIT");
  Steps steps;
  steps.reserve(count);
  for (std::size_t i = 0; i < group.size(); ++i) {
    // Cancelled while an answer came in: a further co_await would throw.
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    Result<pg::Rows> step = fail(Errc::kCancelled, "the caller gave up before the answer came");
    if (cancellation.cancelled() == asio::cancellation_type::none) {
      auto answer = co_await connection.query(std::move(group[i]), time_left(deadline));
      step = std::move(answer);
    }
    if (!step) {
      asio::co_spawn(connection.executor(), roll_back(std::move(place)), asio::detached);
      co_return with_failure(std::move(steps), std::move(step.error()), count);
    }
    if (i > 0 && steps.size() < count) steps.push_back(std::move(step));
  }
  co_return steps;
}

}  // namespace plimsoll::rls
