// Negative controls: each protection is taken out of the SQL once, and the invariant that it
// protects goes red. The same scenario with the statement as it is stays green.
#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

#include "lib/lease_claims/control_pgtest.hpp"
#include "lib/lease_claims/database_pgtest.hpp"

namespace plimsoll::lease {
namespace {

class Controls : public LeaseTest {
 protected:
  static Claimer with_claim(Statements all, Statement claim) {
    all.claim = std::move(claim);
    return Claimer(std::move(all));
  }
  static Claimer with_fire(Statements all, Statement fire) {
    all.fire = std::move(fire);
    return Claimer(std::move(all));
  }
  /// Two schedules, both due and free.
  void free_all() {
    sql().rows("TRUNCATE schedules");
    add_due("acme", 2);
  }
  /// Waits until the backend waits for a lock or `done`.
  void wait_for_lock(int backend, const std::atomic<bool>& done) {
    const std::string waiting = fmt::format(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = {} AND wait_event_type = 'Lock'",
        backend);
    while (!done && count(waiting) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  /// Schedules that two workers hold at once, when the second one claims before the first's commit.
  std::size_t held_by_two(const Claimer& claimer) {
    Worker a(dsn_);
    Worker b(dsn_);
    EXPECT_TRUE(a.run(a.connection().query("BEGIN")));
    const auto first = a.run(claimer.claim(a.connection(), request("acme")));
    Result<std::vector<Lease>> second;
    std::atomic<bool> done{false};
    std::thread other([&] {
      second = b.run(claimer.claim(b.connection(), request("acme")));
      done = true;
    });
    wait_for_lock(b.connection().backend_pid(), done);
    EXPECT_TRUE(a.run(a.connection().query("COMMIT")));
    other.join();
    if (!first || first->size() != 1 || !second) throw std::runtime_error("the scenario failed");
    std::size_t both = 0;
    for (const Lease& lease : *second) both += lease.schedule == first->front().schedule ? 1 : 0;
    return both;
  }
  /// Stale writes that were accepted: a holder whose lease is over fires, after another one claimed
  /// or not.
  std::int64_t stale_fires(const Claimer& claimer, bool superseded) {
    Worker a(dsn_);
    Worker b(dsn_);
    const auto late = a.run(claimer.claim(a.connection(), request("acme")));
    sql().rows("UPDATE schedules SET lease_until = clock_timestamp() WHERE fence > 0");
    if (superseded) {
      const auto now = b.run(claimer.claim(b.connection(), request("acme")));
      if (!now || now->size() != 1) throw std::runtime_error("the scenario failed");
    }
    const auto fired = a.run(claimer.fire(a.connection(), late->front()));
    EXPECT_EQ(fired.has_value(), count("SELECT count(*) FROM fires") == 1);
    return count("SELECT count(*) FROM fires");
  }
};

TEST_F(Controls, WithoutRowLocksTwoWorkersHoldOneSchedule) {
  for (const Subject subject : {Subject::kSkipLocked, Subject::kSkipLockedBatch}) {
    free_all();
    const Statements all = claimer(subject).statements();
    EXPECT_EQ(held_by_two(Claimer(all)), 0U) << name(subject);
    const Statement keyed = by_key(all.claim);
    free_all();
    EXPECT_EQ(held_by_two(with_claim(all, keyed)), 0U) << name(subject);
    free_all();
    EXPECT_EQ(held_by_two(with_claim(all, with(keyed, kRowLocks))), 1U) << name(subject);
  }
}

TEST_F(Controls, WithoutTheAdvisoryLockAndTheSecondLookTwoWorkersHoldOneSchedule) {
  free_all();
  const Statements all = claimer(Subject::kAdvisory).statements();
  EXPECT_EQ(held_by_two(Claimer(all)), 0U);
  const Statement keyed = by_key(all.claim);
  free_all();
  EXPECT_EQ(held_by_two(with_claim(all, keyed)), 0U);
  free_all();
  const Statement open = with(with(keyed, kSecondLook), "pg_try_advisory_xact_lock(", "0 <> (");
  EXPECT_EQ(held_by_two(with_claim(all, open)), 1U);
}

TEST_F(Controls, WithoutTheComparisonTwoWorkersHoldOneSchedule) {
  free_all();
  const Statements all = claimer(Subject::kUpdateReturning).statements();
  EXPECT_EQ(held_by_two(Claimer(all)), 0U);
  const Statement keyed = by_key(all.claim);
  free_all();
  EXPECT_EQ(held_by_two(with_claim(all, keyed)), 0U);
  free_all();
  const Statement blind = with(with(keyed, kSecondLook), "AND s.fence = due.fence");
  EXPECT_EQ(held_by_two(with_claim(all, blind)), 1U);
}

TEST_F(Controls, WithoutTheTokenASupersededHolderFires) {
  add_due("acme", 1);
  const Statements all = claimer().statements();
  EXPECT_EQ(stale_fires(Claimer(all), true), 0);
  sql().rows("UPDATE schedules SET lease_until = '-infinity'");
  // Under its own name the late holder finds a lease that is alive, and takes it for its own.
  EXPECT_EQ(stale_fires(with_fire(all, with(all.fire, kToken, "AND $3::bigint > 0")), true), 1);
}

TEST_F(Controls, WithoutTheClockAHolderFiresAfterItsLease) {
  add_due("acme", 1);
  const Statements all = claimer().statements();
  EXPECT_EQ(stale_fires(Claimer(all), false), 0);
  sql().rows("UPDATE schedules SET lease_until = '-infinity'");
  EXPECT_EQ(stale_fires(with_fire(all, with(all.fire, kClock)), false), 1);
}

TEST_F(Controls, WithoutTheUniqueKeyAScheduleMovedBackFiresTwice) {
  const auto duplicates = [this](const Claimer& claimer) {
    Worker worker(dsn_);
    for (int time = 0; time < 2; ++time) {
      const auto leases = worker.run(claimer.claim(worker.connection(), request("acme")));
      const auto fired = worker.run(claimer.fire(worker.connection(), leases->front()));
      EXPECT_TRUE(fired) << fired.error().message;
      sql().rows(
          "UPDATE schedules SET next_fire = next_fire - interval '1 day', next_local = next_local "
          "- interval '1 day'");
    }
    return count("SELECT count(*) - count(DISTINCT (tenant, schedule, fire_time)) FROM fires");
  };
  add_due("acme", 1);
  const Statements all = claimer().statements();
  EXPECT_EQ(duplicates(Claimer(all)), 0);
  sql().rows("DELETE FROM fires");
  sql().rows("ALTER TABLE fires DROP CONSTRAINT fires_pkey");
  EXPECT_EQ(duplicates(with_fire(all, with(all.fire, "ON CONFLICT DO NOTHING"))), 1);
}

TEST_F(Controls, WithoutTheIncrementTwoClaimsHaveOneToken) {
  const auto repeated_tokens = [this](const Claimer& claimer) {
    Worker worker(dsn_);
    std::set<std::int64_t> tokens;
    for (int time = 0; time < 3; ++time) {
      const auto leases = worker.run(claimer.claim(worker.connection(), request("acme")));
      tokens.insert(leases->front().fence);
      sql().rows("UPDATE schedules SET lease_until = '-infinity'");
    }
    return 3 - static_cast<int>(tokens.size());
  };
  add_due("acme", 1);
  const Statements all = claimer().statements();
  EXPECT_EQ(repeated_tokens(Claimer(all)), 0);
  EXPECT_EQ(
      repeated_tokens(with_claim(all, with(all.claim, "fence = s.fence + 1", "fence = s.fence"))),
      2);
}

TEST_F(Controls, ASubSelectUnderInLocksBeyondItsLimitAndOursDoesNot) {
  add_due("acme", 40);
  sql().rows("ANALYZE schedules");
  // A plan that the planner may choose on its own: the sub-select as the inner side of a loop, run
  // anew for each outer row, each time skipping what it locked before.
  const char* const kLoop =
      "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET "
      "enable_hashagg = off; "
      "SET enable_sort = off; SET enable_memoize = off; SET enable_indexscan = off; SET "
      "enable_bitmapscan = off";
  sql().rows(kLoop);
  sql().rows("BEGIN");
  const auto in = sql().rows(
      "UPDATE schedules SET fence = fence + 1 WHERE tenant = 'acme' AND schedule IN (SELECT "
      "schedule FROM schedules "
      "WHERE tenant = 'acme' AND lease_until < now() LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING "
      "schedule");
  sql().rows("ROLLBACK");
  EXPECT_GT(in.size(), 1U) << "rows beyond LIMIT 1";

  for (const Subject subject :
       {Subject::kSkipLocked, Subject::kSkipLockedBatch, Subject::kAdvisory}) {
    Worker worker(dsn_);
    ASSERT_TRUE(worker.run(worker.connection().script(kLoop)));
    const Claimer claimer = this->claimer(subject);
    const auto leases = worker.run(claimer.claim(worker.connection(), request("acme")));
    EXPECT_EQ(leases->size(), 1U) << name(subject);
  }
  EXPECT_EQ(count("SELECT sum(fence) FROM schedules"), 3);
}

TEST_F(Controls, ASessionLockLeaksWhereATransactionLockDoesNot) {
  add_due("acme", 5);
  // The statement fails after it took its locks, as a bad row or a cancel makes it.
  sql().rows("ALTER TABLE schedules ADD CONSTRAINT broken CHECK (fence = 0)");
  const Statements all = claimer(Subject::kAdvisory).statements();
  const auto leaked = [this](const Claimer& claimer) {
    Worker worker(dsn_);
    EXPECT_FALSE(worker.run(claimer.claim(worker.connection(), request("acme", 3))));
    return count(
        fmt::format("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = {}",
                    worker.connection().backend_pid()));
  };
  EXPECT_EQ(leaked(Claimer(all)), 0);
  EXPECT_EQ(
      leaked(with_claim(all, with(all.claim, "pg_try_advisory_xact_lock", "pg_try_advisory_lock"))),
      3);
}

TEST_F(Controls, TwoStatementsForOneFireLoseItWhenTheWorkerDiesBetweenThem) {
  add_due("acme", 1);
  const Statements all = claimer().statements();
  Worker worker(dsn_);
  const auto leases = worker.run(Claimer(all).claim(worker.connection(), request("acme")));
  // Only the first half: the schedule moves on, and nobody is left to record.
  const Claimer half = with_fire(
      all, with(all.fire, "FROM advanced\n  ON CONFLICT", "FROM advanced WHERE false ON CONFLICT"));
  EXPECT_TRUE(worker.run(half.fire(worker.connection(), leases->front())));
  EXPECT_EQ(count("SELECT count(*) FROM fires"), 0);
  EXPECT_TRUE(worker.run(Claimer(all).claim(worker.connection(), request("acme")))->empty())
      << "and it is lost";
}

}  // namespace
}  // namespace plimsoll::lease
