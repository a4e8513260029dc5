#include <gmock/gmock.h>

#include <map>
#include <set>

#include "lib/lease_claims/database_pgtest.hpp"
#include "lib/lease_claims/fair_claimer.hpp"

namespace plimsoll::lease {
namespace {

using testing::HasSubstr;

class Fairness : public LeaseTest {
 protected:
  FairClaimer fair() const { return *FairClaimer::make(schema_); }
  std::vector<Lease> take(Worker& worker, FairClaimer& claimer, std::size_t limit,
                          std::size_t share = 1) {
    auto leases =
        worker.run(claimer.claim(worker.connection(), FairRequest{"w", kLong, limit, share}));
    if (!leases) throw std::runtime_error(leases.error().message);
    return *leases;
  }
  /// `tenants` named t00000 and so on, each with `each` schedules due.
  void add_tenants(int tenants, int each) {
    sql().rows(fmt::format(
        "INSERT INTO schedules (tenant, schedule, next_fire, next_local, period_s) SELECT 't' || "
        "to_char(t, 'FM00000'), "
        "s, at, at AT TIME ZONE 'UTC', 60 FROM generate_series(0, {}) t, generate_series(1, {}) s, "
        "(SELECT now() - interval '1 hour' AS at) moment",
        tenants - 1, each));
  }
  static std::map<std::string, int> by_tenant(const std::vector<Lease>& leases) {
    std::map<std::string, int> all;
    for (const Lease& lease : leases) ++all[lease.tenant];
    return all;
  }
};

TEST_F(Fairness, ATenantWithOneDueIsServedBesideOneWithThousands) {
  add_due("a-busy", 5000);
  sql().rows("UPDATE schedules SET next_fire = next_fire - interval '1 day'");
  add_due("z-small", 1);
  Worker worker(dsn_);
  FairClaimer claimer = fair();
  const auto served = by_tenant(take(worker, claimer, 10, 5));
  EXPECT_EQ(served, (std::map<std::string, int>{{"a-busy", 5}, {"z-small", 1}}));
}

TEST_F(Fairness, WithoutTurnsTheOldestFirstStarvesTheSmallTenant) {  // The control.
  add_due("a-busy", 500);
  sql().rows("UPDATE schedules SET next_fire = next_fire - interval '1 day'");
  add_due("z-small", 1);
  Worker worker(dsn_);
  const Statements all = claimer().statements();
  Statements oldest_first = all;
  oldest_first.claim = with(all.claim, "tenant = $1 AND", "$1 <> '' AND");
  const Claimer unfair(oldest_first);
  for (int round = 0; round < 50; ++round) {
    ASSERT_EQ(worker.run(unfair.claim(worker.connection(), request("any", 10)))->size(), 10U);
  }
  EXPECT_EQ(count("SELECT fence FROM schedules WHERE tenant = 'z-small'"), 0)
      << "starved for 50 claims";
}

TEST_F(Fairness, EveryTenantIsServedBeforeAnyIsServedTwice) {
  add_tenants(23, 10);
  Worker worker(dsn_);
  FairClaimer claimer = fair();
  for (int circle = 1; circle <= 3; ++circle) {
    std::map<std::string, int> served;
    while (static_cast<int>(served.size()) < 23) {
      const auto leases = take(worker, claimer, 5);
      ASSERT_LE(leases.size(), 5U);
      for (const auto& [tenant, rows] : by_tenant(leases)) served[tenant] += rows;
      for (const auto& [tenant, rows] : served)
        ASSERT_EQ(rows, 1) << tenant << " in circle " << circle;
    }
  }
  EXPECT_EQ(count("SELECT count(*) FROM (SELECT tenant FROM schedules GROUP BY tenant HAVING "
                  "sum(fence) <> 3) t"),
            0);
}

TEST_F(Fairness, TheLimitHoldsWhateverTheShare) {
  add_tenants(3, 50);
  Worker worker(dsn_);
  FairClaimer claimer = fair();
  EXPECT_EQ(take(worker, claimer, 40, 40).size(), 40U);
  EXPECT_EQ(take(worker, claimer, 7, 3).size(), 6U) << "two tenants were left of this circle";
  EXPECT_EQ(take(worker, claimer, 7, 3).size(), 7U);
  EXPECT_EQ(count("SELECT count(*) FROM schedules WHERE fence > 0"), 53);
}

TEST_F(Fairness, OneDueBehindThousandsOfIdleTenantsIsFoundInOneClaim) {
  add_tenants(2500, 1);
  sql().rows("UPDATE schedules SET next_fire = now() + interval '1 hour'");
  sql().rows("UPDATE schedules SET next_fire = now() - interval '1 hour' WHERE tenant = 't02400'");
  Worker worker(dsn_);
  FairClaimer claimer = fair();
  const auto found = take(worker, claimer, 4);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().tenant, "t02400");
  const auto before = worker.connection().counters().round_trips;
  EXPECT_TRUE(take(worker, claimer, 4).empty());
  EXPECT_LE(worker.connection().counters().round_trips - before, 4U)
      << "one circle, a thousand tenants a statement";
}

TEST_F(Fairness, WorkersAtOnceTakeTurnsWithoutSharing) {
  add_tenants(10, 4);
  Worker a(dsn_);
  Worker b(dsn_);
  FairClaimer first = fair();
  FairClaimer second = fair();
  std::set<std::pair<std::string, std::int64_t>> taken;
  for (int round = 0; round < 8; ++round) {
    Worker& worker = round % 2 == 0 ? a : b;
    for (const Lease& lease : take(worker, round % 2 == 0 ? first : second, 5)) {
      EXPECT_TRUE(taken.emplace(lease.tenant, lease.schedule).second);
    }
  }
  EXPECT_EQ(taken.size(), 40U);
}

TEST_F(Fairness, ARowThatWasLockedAndThenLeftOutDoesNotEndTheTurn) {
  add_tenants(3, 1);
  // As when another transaction changed the row between our snapshot and our lock, but every time.
  sql().rows(
      "CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'");
  sql().rows(
      "CREATE TRIGGER leave_out BEFORE UPDATE ON schedules FOR EACH ROW "
      "WHEN (OLD.tenant = 't00000') EXECUTE FUNCTION leave_out()");
  Worker worker(dsn_);
  FairClaimer claimer = fair();
  const auto first = take(worker, claimer, 1);
  ASSERT_EQ(first.size(), 1U) << "others are due";
  EXPECT_EQ(first.front().tenant, "t00001");
  const auto second = take(worker, claimer, 1);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second.front().tenant, "t00002");
  EXPECT_TRUE(take(worker, claimer, 1).empty());
}

TEST_F(Fairness, ItsLeasesFireLikeAnyOther) {
  add_tenants(3, 1);
  Worker worker(dsn_);
  FairClaimer claimer = fair();
  const Claimer writer = this->claimer();
  const auto fired = worker.run(writer.fire_all(worker.connection(), take(worker, claimer, 10)));
  ASSERT_TRUE(fired) << fired.error().message;
  EXPECT_EQ(fired->recorded.size(), 3U);
}

TEST_F(Fairness, BadRequestsAreRefused) {
  Worker worker(dsn_);
  FairClaimer claimer = fair();
  const std::vector<FairRequest> bad{{"", kLong, 1, 1},  {"w", std::chrono::milliseconds{0}, 1, 1},
                                     {"w", kLong, 0, 0}, {"w", kLong, 100'000, 1},
                                     {"w", kLong, 4, 5}, {"w", kLong, 4, 0}};
  for (const FairRequest& one : bad) {
    const auto result = worker.run(claimer.claim(worker.connection(), one));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(result.error().message, HasSubstr("claim: "));
  }
}

}  // namespace
}  // namespace plimsoll::lease
