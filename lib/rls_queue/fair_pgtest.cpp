// Turns between tenants, and what happens when too many jobs wait.
#include "lib/rls_queue/database_pgtest.hpp"

namespace plimsoll::rls {
namespace {

using testing::HasSubstr;

class Fair : public RlsTest {
 protected:
  static constexpr int kBig = 300;

  /// A big tenant's jobs from 30 callers, and behind them one of a small tenant.
  static std::vector<Job> big_then_small() {
    std::vector<Job> jobs;
    for (int n = 0; n < kBig; ++n) jobs.push_back(log("a", static_cast<std::uint64_t>(n % 30), n));
    jobs.push_back(log("b", 0, 0));
    return jobs;
  }
  /// How many jobs were executed before the small tenant's.
  std::int64_t before_the_small_one() {
    return number("SELECT count(*) FROM log WHERE seq < (SELECT seq FROM log WHERE tenant = 'b')");
  }
};

TEST_F(Fair, ASmallTenantBehindABigOneIsServed) {
  for (const Subject subject : {Subject::kPipelined, Subject::kPool}) {
    sql("TRUNCATE log");
    Config shallow = config(subject);
    shallow.depth = 4;
    const auto queue = open(shallow);
    for (const auto& result : run_all(*queue, big_then_small())) {
      EXPECT_TRUE(result) << result.error().message;
    }
    EXPECT_EQ(number("SELECT count(*) FROM log"), kBig + 1);
    // What was under way when it came, one turn of the big one, and what ran beside it.
    EXPECT_LE(before_the_small_one(), 4 * 4) << name(subject);
  }
}

TEST_F(Fair, StrictOrderWouldMakeItWaitForAll) {
  const auto queue = open(config(Subject::kSerial));
  for (const auto& result : run_all(*queue, big_then_small())) EXPECT_TRUE(result);
  EXPECT_EQ(before_the_small_one(), kBig);
}

TEST_F(Fair, NobodyIsTurnedAwayWithinTheLimit) {
  Config narrow = config(Subject::kPool);
  narrow.depth = 1;
  const auto queue = open(narrow);
  std::vector<Job> jobs;
  for (std::uint64_t caller = 0; caller < 1000; ++caller) jobs.push_back(look("a"));
  for (const auto& result : run_all(*queue, std::move(jobs))) {
    EXPECT_TRUE(result) << result.error().message;
  }
  EXPECT_EQ(number("SELECT count(*) FROM seen"), 1000);
}

TEST_F(Fair, BeyondTheLimitTheNewestOfTheBiggestTenantIsTurnedAway) {
  Config small = config(Subject::kPipelined);
  small.depth = 1;
  small.max_waiting = 10;
  const auto queue = open(small);
  std::vector<Job> jobs;
  for (int n = 0; n < 20; ++n) jobs.push_back(log("a", 1, n));
  jobs.push_back(log("b", 1, 0));
  const auto results = run_all(*queue, std::move(jobs));
  // One under way, ten waiting, of which the last made room for the small tenant's.
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_EQ(results[i].has_value(), i < 10) << i;
    if (i >= 10) {
      EXPECT_EQ(results[i].error().code, Errc::kBusy);
      EXPECT_THAT(results[i].error().message, HasSubstr("retry after a pause"));
      EXPECT_TRUE(results[i].error().unsent);
    }
  }
  EXPECT_TRUE(results[20]);
  EXPECT_EQ(number("SELECT count(*) FROM log"), 11);
}

TEST_F(Fair, LongJobsOfOneTenantDoNotHoldUpShortOnesOfAnother) {
  Config narrow = config(Subject::kPipelined);
  narrow.depth = 1;
  const auto queue = open(narrow);
  std::vector<Job> jobs;
  for (int n = 0; n < 10; ++n) {
    const auto write = log("a", 1, n).statements.front();
    jobs.emplace_back(as("a"), std::vector<pg::Query>(10, write), 1);
  }
  for (int n = 0; n < 10; ++n) jobs.push_back(log("b", 1, n));
  for (const auto& result : run_all(*queue, std::move(jobs))) {
    EXPECT_TRUE(result) << result.error().message;
  }
  // When the short ones are through, the long ones have had as many statements, and what was
  // under way from the start.
  EXPECT_LE(
      number("SELECT count(*) FROM log WHERE tenant = 'a' AND seq < (SELECT max(seq) FROM log "
             "WHERE tenant = 'b')"),
      30);
}

}  // namespace
}  // namespace plimsoll::rls
