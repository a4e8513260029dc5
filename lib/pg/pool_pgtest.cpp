#include "lib/pg/pool.hpp"

#include "lib/core/with_timeout.hpp"
#include "lib/pg/server_pgtest.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;

class PoolTest : public ServerTest {
 protected:
  std::unique_ptr<Pool> make(std::size_t size, std::size_t max_waiters = 100) {
    PoolConfig wanted;
    wanted.connection = config();
    wanted.size = size;
    wanted.max_waiters = max_waiters;
    return std::make_unique<Pool>(loop_.get_executor(), wanted);
  }
  static asio::awaitable<Result<std::int64_t>> borrow_and_ask(Pool* pool, std::string sql) {
    auto loan = co_await pool->acquire(60s);
    if (!loan) co_return fail(loan.error());
    auto rows = co_await (*loan)->query(sql);
    if (!rows) co_return fail(rows.error());
    co_return rows->integer(0, 0);
  }
  /// Notes its number when it is served, then asks the server something.
  static asio::awaitable<int> note_when_served(Pool* pool, int number, std::vector<int>* served) {
    auto loan = co_await pool->acquire(60s);
    EXPECT_TRUE(loan.has_value());
    served->push_back(number);
    auto rows = co_await (*loan)->query("SELECT 1");
    EXPECT_TRUE(rows.has_value());
    co_return number;
  }
};

TEST_F(PoolTest, MakesConnectionsOnlyWhenNeeded) {
  const auto pool = make(3);
  EXPECT_EQ(pool->size(), 0U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(borrow_and_ask(pool.get(), "SELECT 5")), 5);
  EXPECT_EQ(pool->size(), 1U);
  EXPECT_EQ(pool->idle(), 1U);
}

TEST_F(PoolTest, NeverHasMoreThanItsSize) {
  const auto pool = make(3);
  std::vector<asio::awaitable<Result<std::int64_t>>> works;
  for (int i = 0; i < 50; ++i) {
    works.push_back(borrow_and_ask(pool.get(), "SELECT pg_backend_pid() FROM pg_sleep(0.001)"));
  }
  std::vector<std::int64_t> pids;
  for (const auto& pid : run_all(std::move(works))) {
    ASSERT_TRUE(pid) << pid.error().message;
    pids.push_back(*pid);
  }
  std::ranges::sort(pids);
  EXPECT_EQ(std::ranges::unique(pids).begin() - pids.begin(), 3);
  EXPECT_EQ(pool->idle(), 3U);
  EXPECT_EQ(pool->waiters(), 0U);
}

TEST_F(PoolTest, ServesWaitersInTheOrderInWhichTheyCame) {
  const auto pool = make(1);
  std::vector<int> served;
  std::vector<asio::awaitable<int>> works;
  for (int i = 0; i < 20; ++i) works.push_back(note_when_served(pool.get(), i, &served));
  run_all(std::move(works));
  std::vector<int> expected(20);
  for (int i = 0; i < 20; ++i) expected[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(served, expected);
}

TEST_F(PoolTest, ExhaustionIsATimeout) {
  const auto pool = make(1);
  const auto loan = run(pool->acquire());
  ASSERT_TRUE(loan) << loan.error().message;
  const auto late = run(pool->acquire(20ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kTimeout);
  EXPECT_THAT(late.error().message, ::testing::HasSubstr("all 1 connections"));
  EXPECT_EQ(pool->waiters(), 0U);
}

TEST_F(PoolTest, TooManyWaitersAreTurnedAwayAtOnce) {
  const auto pool = make(1, 2);
  const auto loan = run(pool->acquire());
  ASSERT_TRUE(loan);
  std::vector<asio::awaitable<Result<PooledConnection>>> works;
  for (int i = 0; i < 3; ++i) works.push_back(pool->acquire(50ms));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().code, Errc::kTimeout);
  EXPECT_EQ(results[1].error().code, Errc::kTimeout);
  EXPECT_EQ(results[2].error().code, Errc::kBusy);
}

TEST_F(PoolTest, ACancelledWaiterLeavesTheQueueAndTheOthersTheirOrder) {
  const auto pool = make(1);
  auto loan = run(pool->acquire());
  ASSERT_TRUE(loan);
  std::vector<int> served;
  std::vector<asio::awaitable<int>> works;
  works.push_back(note_when_served(pool.get(), 0, &served));
  works.push_back([](Pool* p, Result<PooledConnection>* held) -> asio::awaitable<int> {
    auto call = p->acquire(60s);
    auto raced = co_await with_timeout(std::move(call), 20ms);
    EXPECT_FALSE(raced.has_value());
    EXPECT_EQ(p->waiters(), 2U);
    *held = PooledConnection();  // Now the others may have it.
    co_return 1;
  }(pool.get(), &loan));
  works.push_back(note_when_served(pool.get(), 2, &served));
  run_all(std::move(works));
  EXPECT_EQ(served, (std::vector<int>{0, 2}));
  EXPECT_EQ(pool->idle(), 1U);
}

TEST_F(PoolTest, ReplacesAConnectionWhoseBackendDied) {
  const auto pool = make(1);
  const auto pid = run(borrow_and_ask(pool.get(), "SELECT pg_backend_pid()"));
  ASSERT_TRUE(pid);
  plain().text("SELECT pg_terminate_backend(" + std::to_string(*pid) + ", 60000)");
  // The death shows at the first use; the caller sees it, and the next one gets a new connection.
  EXPECT_EQ(run(borrow_and_ask(pool.get(), "SELECT 1")).error().code, Errc::kUnavailable);
  EXPECT_EQ(pool->size(), 0U);
  const auto next = run(borrow_and_ask(pool.get(), "SELECT pg_backend_pid()"));
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_NE(*next, *pid);
}

TEST_F(PoolTest, AWaiterIsServedWhenTheConnectionItWaitsForBreaks) {
  const auto pool = make(1);
  std::vector<asio::awaitable<Result<std::int64_t>>> works;
  works.push_back(
      borrow_and_ask(pool.get(), "SELECT 1 FROM pg_terminate_backend(pg_backend_pid())"));
  works.push_back(borrow_and_ask(pool.get(), "SELECT 2"));
  works.push_back(borrow_and_ask(pool.get(), "SELECT 3"));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().code, Errc::kUnavailable);
  EXPECT_EQ(results[1], 2);
  EXPECT_EQ(results[2], 3);
}

TEST_F(PoolTest, AWaiterIsServedWhenAConnectionCannotBeMade) {
  PoolConfig wanted;
  wanted.connection = Config("host=/nonexistent");
  wanted.size = 1;
  Pool pool(loop_.get_executor(), wanted);
  std::vector<asio::awaitable<Result<PooledConnection>>> works;
  for (int i = 0; i < 3; ++i) works.push_back(pool.acquire(60s));
  for (const auto& result : run_all(std::move(works))) {
    EXPECT_EQ(result.error().code, Errc::kUnavailable);
  }
  EXPECT_EQ(pool.size(), 0U);
}

TEST_F(PoolTest, DoesNotLendOnAnOpenTransaction) {
  const auto pool = make(1);
  {
    auto loan = run(pool->acquire());
    ASSERT_TRUE(loan);
    ASSERT_TRUE(run((*loan)->query("BEGIN")));
  }
  EXPECT_EQ(pool->size(), 0U);
  EXPECT_TRUE(run(borrow_and_ask(pool.get(), "SELECT 1")).has_value());
}

TEST_F(PoolTest, CountsAlsoWhatIsGone) {
  const auto pool = make(2);
  {
    auto loan = run(pool->acquire());
    ASSERT_TRUE(loan);
    ASSERT_TRUE(run((*loan)->query("SELECT 1")));
    EXPECT_EQ(pool->counters().statements, 1U);  // On loan.
    ASSERT_TRUE(run((*loan)->query("BEGIN")));
  }
  EXPECT_EQ(pool->counters().statements, 2U);  // Gone.
  ASSERT_TRUE(run(borrow_and_ask(pool.get(), "SELECT 1")));
  EXPECT_EQ(pool->counters().statements, 3U);  // Idle.
}

TEST_F(PoolTest, ClosingFailsTheWaitersAndLeavesLoansAlone) {
  auto pool = make(1);
  auto loan = run(pool->acquire());
  ASSERT_TRUE(loan);
  std::vector<asio::awaitable<Result<PooledConnection>>> works;
  works.push_back(pool->acquire(60s));
  works.push_back([](std::unique_ptr<Pool>* p) -> asio::awaitable<Result<PooledConnection>> {
    p->reset();
    co_return PooledConnection();
  }(&pool));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().code, Errc::kUnavailable);
  EXPECT_TRUE(run((*loan)->query("SELECT 1")).has_value());
}

}  // namespace
}  // namespace plimsoll::pg
