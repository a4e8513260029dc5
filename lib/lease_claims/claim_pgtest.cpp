#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "lib/lease_claims/database_pgtest.hpp"

namespace plimsoll::lease {
namespace {

using testing::HasSubstr;
using testing::Not;

/// What must hold for every way to claim.
class EverySubject : public LeaseTest, public ::testing::WithParamInterface<Subject> {
 protected:
  Claimer claimer() const { return *Claimer::make(GetParam(), schema_); }
  /// As many as this subject takes at once, at most `most`.
  std::size_t batch(std::size_t most) const {
    return std::min(most, claimer().statements().max_batch);
  }
};

TEST_P(EverySubject, TakesTheOldestDueFirstAndNothingThatIsNotDue) {
  add_due("acme", 3);
  sql().rows("UPDATE schedules SET next_fire = next_fire - interval '1 hour' WHERE schedule = 2");
  sql().rows("UPDATE schedules SET next_fire = now() + interval '1 hour' WHERE schedule = 3");
  const Claimer claimer = this->claimer();
  Worker worker(dsn_);

  const auto first = worker.run(claimer.claim(worker.connection(), request("acme")));
  const auto second = worker.run(claimer.claim(worker.connection(), request("acme")));
  const auto third = worker.run(claimer.claim(worker.connection(), request("acme")));

  ASSERT_EQ(first->size(), 1U);
  EXPECT_EQ(first->front().schedule, 2);
  EXPECT_EQ(first->front().tenant, "acme");
  ASSERT_EQ(second->size(), 1U);
  EXPECT_EQ(second->front().schedule, 1);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_TRUE(third->empty());
}

TEST_P(EverySubject, TellsTheFireTimeToTheMicrosecond) {
  sql().rows(
      "INSERT INTO schedules (tenant, schedule, next_fire, next_local, period_s) VALUES "
      "('acme', 1, '2001-02-03 04:05:06.789012+00', '2001-02-03 04:05:06.789012', 60)");
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const auto leases = worker.run(claimer.claim(worker.connection(), request("acme")));
  ASSERT_EQ(leases->size(), 1U);
  EXPECT_EQ(leases->front().fire_time.time_since_epoch().count(), 981'173'106'789'012);
}

TEST_P(EverySubject, NeverTakesMoreThanTheLimit) {
  add_due("acme", 200);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const std::size_t limit = batch(20);
  const auto leases = worker.run(claimer.claim(worker.connection(), request("acme", limit)));
  ASSERT_TRUE(leases) << leases.error().message;
  EXPECT_EQ(leases->size(), limit);
  EXPECT_EQ(count("SELECT count(*) FROM schedules WHERE fence > 0"),
            static_cast<std::int64_t>(limit));
}

TEST_P(EverySubject, LeavesAloneWhatIsHeldUntilTheLeaseExpires) {
  add_due("acme", 1);
  Worker a(dsn_);
  Worker b(dsn_);
  const Claimer claimer = this->claimer();
  const auto held = a.run(claimer.claim(a.connection(), request("acme", 1, kLong)));
  ASSERT_EQ(held->size(), 1U);
  EXPECT_TRUE(b.run(claimer.claim(b.connection(), request("acme")))->empty());

  sql().rows("UPDATE schedules SET lease_until = clock_timestamp()");

  const auto taken = b.run(claimer.claim(b.connection(), request("acme")));
  ASSERT_EQ(taken->size(), 1U);
  EXPECT_EQ(taken->front().fence, held->front().fence + 1);
}

TEST_P(EverySubject, RefusesBadRequestsBeforeAnythingIsSent) {
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const auto sent = worker.connection().counters().round_trips;
  std::vector<ClaimRequest> bad{request(""),
                                request("acme", 0),
                                request("acme", 1, std::chrono::milliseconds{0}),
                                request("acme", 1, std::chrono::milliseconds{-1}),
                                request("acme", 100'000),
                                request(std::string("a\0b", 3)),
                                request("acme", 1, kLong, "")};
  for (ClaimRequest& one : bad) {
    const auto result = worker.run(claimer.claim(worker.connection(), one));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kInvalidArgument) << result.error().message;
  }
  EXPECT_EQ(worker.connection().counters().round_trips, sent);
}

TEST_P(EverySubject, TakesATenantByItsExactNameWhateverIsInIt) {
  const std::vector<std::string> tenants{
      "it's", "x'; DROP TABLE fires; --", "\"q\"", "{a,b}", "a\\b", "NULL", "%", "Zürich", "東京"};
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  for (const std::string& tenant : tenants) {
    ScheduleSpec spec{
        tenant, 1,   Timestamp{std::chrono::seconds{1'600'000'000}}, std::chrono::hours{24},
        "UTC",  true};
    ASSERT_TRUE(worker.run(add_schedule(worker.connection(), schema_, spec)));
  }
  for (const std::string& tenant : tenants) {
    const auto leases = worker.run(claimer.claim(worker.connection(), request(tenant, batch(10))));
    ASSERT_EQ(leases->size(), 1U) << tenant;
    const auto fired = worker.run(claimer.fire_all(worker.connection(), *leases));
    ASSERT_TRUE(fired) << fired.error().message;
    EXPECT_EQ(fired->recorded.size(), 1U) << tenant;
  }
  EXPECT_EQ(count("SELECT count(DISTINCT tenant) FROM fires"),
            static_cast<std::int64_t>(tenants.size()));
}

// The invariants of the group: each due schedule is claimed by one worker, fired once, under a
// token that grew by one. Counted from the workers' own notes and from the tables, by SQL.
TEST_P(EverySubject, WorkersAtOnceNeverShareAScheduleNorLoseOne) {
  constexpr int kSchedules = 240;
  add_due("acme", kSchedules);
  sql().rows("CREATE TABLE seen (worker int, schedule bigint, fence bigint)");
  const Claimer claimer = this->claimer();
  const std::size_t limit = batch(7);
  std::vector<std::thread> workers;
  for (int number = 0; number < 6; ++number) {
    workers.emplace_back([this, &claimer, limit, number] {
      Worker worker(dsn_);
      Plain notes(dsn_);
      for (int idle = 0; idle < 20;) {
        const auto leases = worker.run(claimer.claim(worker.connection(), request("acme", limit)));
        if (!leases || leases->empty()) {
          ++idle;
          continue;
        }
        idle = 0;
        EXPECT_LE(leases->size(), limit);
        for (const Lease& lease : *leases) {
          notes.rows(fmt::format("INSERT INTO seen VALUES ({}, {}, {})", number, lease.schedule,
                                 lease.fence));
          const auto fired = worker.run(claimer.fire(worker.connection(), lease));
          EXPECT_TRUE(fired && fired->recorded);
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();

  EXPECT_EQ(count("SELECT count(*) FROM seen"), kSchedules);
  EXPECT_EQ(count("SELECT count(DISTINCT schedule) FROM seen"), kSchedules);
  EXPECT_EQ(count("SELECT count(*) FROM fires"), kSchedules);
  EXPECT_EQ(count("SELECT count(DISTINCT (tenant, schedule, fire_time)) FROM fires"), kSchedules);
  EXPECT_EQ(count("SELECT count(*) FROM seen JOIN fires USING (schedule, fence)"), kSchedules);
  EXPECT_EQ(count("SELECT count(*) FROM schedules WHERE fence <> 1"), 0);
  EXPECT_EQ(
      count("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid IN (SELECT pid FROM "
            "pg_stat_activity WHERE query LIKE '%" +
            schema_ + "%')"),
      0);
}

TEST_P(EverySubject, FindsTheDueByIndexAmongTenThousand) {
  add_due("acme", 10'000);
  add_due("other", 10'000);
  sql().rows(
      "UPDATE schedules SET next_fire = now() + interval '1 day' WHERE tenant = 'acme' AND "
      "schedule > 50");
  sql().rows("ANALYZE schedules");
  sql().rows("SET plan_cache_mode = force_generic_plan");
  const Statements all = claimer().statements();
  sql().rows("PREPARE claim AS " + all.claim.sql);
  const std::string limit = all.max_batch > 1 ? ", 10" : "";
  const std::string window = all.optimistic ? ", 0" : "";
  std::string plan;
  for (const auto& row :
       sql().rows("EXPLAIN (ANALYZE, TIMING off) EXECUTE claim('acme', 'w', 1000" + limit + window +
                  ")")) {
    plan += row.front() + "\n";
  }
  EXPECT_THAT(plan, HasSubstr("Index Scan using schedules_due"));
  EXPECT_THAT(plan, HasSubstr("Tid Scan on schedules"));
  EXPECT_THAT(plan, Not(HasSubstr("Seq Scan")));
  EXPECT_THAT(plan, Not(HasSubstr("Sort")));
  EXPECT_THAT(plan, Not(HasSubstr("Hash")));
}

INSTANTIATE_TEST_SUITE_P(Claims, EverySubject,
                         ::testing::Values(Subject::kSkipLocked, Subject::kSkipLockedBatch,
                                           Subject::kAdvisory, Subject::kUpdateReturning),
                         [](const auto& one) { return std::string(name(one.param)); });

}  // namespace
}  // namespace plimsoll::lease
