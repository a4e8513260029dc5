#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <vector>

#include "lib/core/clock.hpp"
#include "lib/core/result.hpp"
#include "lib/pg/query.hpp"
#include "lib/pg/rows.hpp"
#include "lib/rls_queue/dispatcher.hpp"

namespace plimsoll::rls {

/// Rounded up, and at least 1 ms: what a call takes as its limit.
[[nodiscard]] std::chrono::milliseconds time_left(TimePoint deadline) noexcept;

/// BEGIN, each statement of the group, COMMIT, a round trip each. Answers as Connection::pipeline.
/// After a failure it returns at once, and the place is given back when a ROLLBACK behind it was
/// answered; where even that fails the connection is closed.
[[nodiscard]] asio::awaitable<std::vector<Result<pg::Rows>>> run_stepwise(
    Place place, std::vector<pg::Query> group, TimePoint deadline);

}  // namespace plimsoll::rls
