#include <gmock/gmock.h>

#include <thread>

#include "lib/core/with_timeout.hpp"
#include "lib/lease_claims/database_pgtest.hpp"

namespace plimsoll::lease {
namespace {

using testing::HasSubstr;

class Holding : public LeaseTest {
 protected:
  /// One claimed schedule of acme.
  Lease hold(Worker& worker, const Claimer& claimer, std::chrono::milliseconds ttl = kLong,
             const std::string& owner = "worker") {
    auto leases = worker.run(claimer.claim(worker.connection(), request("acme", 1, ttl, owner)));
    if (!leases || leases->size() != 1) throw std::runtime_error("nothing to hold");
    return leases->front();
  }
  /// Of at least `least` updates, most wrote no index entry. None would be heap-only if an indexed
  /// column changed; a few are not where somebody's snapshot (autovacuum's analyze on a busy
  /// machine) keeps old versions, so that their pages fill up.
  void expect_heap_only(Worker& worker, int least) {
    // A backend hands in its counts at the end of a transaction, when told to.
    ASSERT_TRUE(worker.run(worker.connection().query("SELECT pg_stat_force_next_flush()")));
    ASSERT_TRUE(worker.run(worker.connection().query("SELECT 1")));
    const auto counts = sql().rows(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'schedules' AND "
        "schemaname = '" +
        schema_ + "'");
    ASSERT_EQ(counts.size(), 1U);
    const double updates = std::stod(counts.front()[0]);
    EXPECT_GE(updates, least);
    EXPECT_GE(std::stod(counts.front()[1]), updates * 0.5);
  }
  void expire() { sql().rows("UPDATE schedules SET lease_until = clock_timestamp()"); }
};

TEST_F(Holding, ARenewalExtendsTheLeaseByTheDatabasesClock) {
  add_due("acme", 1);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const Lease lease = hold(worker, claimer, std::chrono::milliseconds{5000});
  const auto before = Clock::now();

  const auto until =
      worker.run(claimer.renew(worker.connection(), lease, std::chrono::milliseconds{500'000}));

  ASSERT_TRUE(until) << until.error().message;
  EXPECT_GE(*until, before + std::chrono::milliseconds{500'000});
  EXPECT_EQ(count("SELECT (lease_until - clock_timestamp() BETWEEN '400 s' AND '500 s')::int FROM "
                  "schedules"),
            1);
  EXPECT_EQ(count("SELECT fence FROM schedules"), lease.fence) << "a renewal is no claim";
}

TEST_F(Holding, ARenewedLeaseIsNotTakenHoweverOldItIs) {
  // Rescue on age alone runs live jobs twice: the claim is far older than its ttl here.
  add_due("acme", 1);
  Worker holder(dsn_);
  Worker thief(dsn_);
  const Claimer claimer = this->claimer();
  const Lease lease = hold(holder, claimer);
  sql().rows(
      "UPDATE schedules SET next_fire = next_fire - interval '30 days', "
      "next_local = next_local - interval '30 days'");
  ASSERT_TRUE(holder.run(claimer.renew(holder.connection(), lease, kLong)));
  EXPECT_TRUE(thief.run(claimer.claim(thief.connection(), request("acme")))->empty());
}

TEST_F(Holding, AKeptLeaseOutlivesManyTimesItsTtl) {
  add_due("acme", 1);
  Worker holder(dsn_);
  const Claimer claimer = this->claimer();
  constexpr std::chrono::milliseconds kTtl{5000};
  const Lease lease = hold(holder, claimer, kTtl);
  const auto kept = holder.run(with_timeout(claimer.keep(holder.connection(), lease, kTtl),
                                            std::chrono::milliseconds{6500}));
  EXPECT_EQ(kept, std::nullopt) << "it ended by itself: " << kept->message;
  EXPECT_EQ(count("SELECT (lease_until > clock_timestamp())::int FROM schedules"), 1);
  EXPECT_TRUE(holder.run(claimer.fire(holder.connection(), lease)));
}

TEST_F(Holding, KeepingEndsWhenTheLeaseIsLost) {
  add_due("acme", 1);
  Worker holder(dsn_);
  Worker thief(dsn_);
  const Claimer claimer = this->claimer();
  const Lease lease = hold(holder, claimer, std::chrono::milliseconds{300});
  expire();
  EXPECT_EQ(hold(thief, claimer, kLong).fence, 2);
  const Error error =
      holder.run(claimer.keep(holder.connection(), lease, std::chrono::milliseconds{300}));
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_THAT(error.message, HasSubstr("is at token 2"));
}

TEST_F(Holding, AnExpiredLeaseCannotBeRenewedReleasedOrFiredEvenIfNobodyTookIt) {
  add_due("acme", 1);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const Lease lease = hold(worker, claimer);
  expire();
  const std::string before = sql().text("SELECT s::text FROM schedules s");

  const auto renewed = worker.run(claimer.renew(worker.connection(), lease, kLong));
  const auto released = worker.run(claimer.release(worker.connection(), lease));
  const auto fired = worker.run(claimer.fire(worker.connection(), lease));

  for (const auto& error : {renewed.error(), released.error(), fired.error()}) {
    EXPECT_EQ(error.code, Errc::kConflict);
    EXPECT_THAT(error.message, HasSubstr("lost lease: token 1 of schedule 1 of acme expired"));
  }
  EXPECT_EQ(sql().text("SELECT s::text FROM schedules s"), before);
  EXPECT_EQ(count("SELECT count(*) FROM fires"), 0);
}

TEST_F(Holding, ASupersededHolderIsToldByWhomAndAtWhichToken) {
  add_due("acme", 1);
  Worker a(dsn_);
  Worker b(dsn_);
  const Claimer claimer = this->claimer();
  const Lease old = hold(a, claimer, kLong, "alice");
  expire();
  const Lease now = hold(b, claimer, kLong, "bob");

  const auto fired = a.run(claimer.fire(a.connection(), old));

  ASSERT_FALSE(fired);
  EXPECT_EQ(fired.error().code, Errc::kConflict);
  EXPECT_THAT(fired.error().message, HasSubstr("is at token 2 (claimed by bob), ours is 1"));
  EXPECT_TRUE(b.run(claimer.renew(b.connection(), now, kLong)))
      << "the new holder is not disturbed";
}

TEST_F(Holding, ASharedNameGivesNoRights) {
  // A node that restarts under its old name must neither keep nor hide what the old one held.
  add_due("acme", 1);
  Worker first(dsn_);
  Worker second(dsn_);
  const Claimer claimer = this->claimer();
  const Lease lease = hold(first, claimer, kLong, "node-1");
  EXPECT_TRUE(
      second.run(claimer.claim(second.connection(), request("acme", 1, kLong, "node-1")))->empty());
  expire();
  const Lease again = hold(second, claimer, kLong, "node-1");
  EXPECT_EQ(again.fence, 2);
  EXPECT_FALSE(first.run(claimer.renew(first.connection(), lease, kLong)));
}

TEST_F(Holding, AReleasedScheduleIsDueAtOnceAndItsTokenIsSpent) {
  add_due("acme", 1);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const Lease lease = hold(worker, claimer);
  ASSERT_TRUE(worker.run(claimer.release(worker.connection(), lease)));
  EXPECT_FALSE(worker.run(claimer.release(worker.connection(), lease))) << "once";
  EXPECT_FALSE(worker.run(claimer.fire(worker.connection(), lease)));
  EXPECT_EQ(hold(worker, claimer).fence, 2);
}

TEST_F(Holding, AnUnknownScheduleIsNotFound) {
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const Lease unknown{"nobody", 404, Timestamp{}, 1, {}};
  const auto renewed = worker.run(claimer.renew(worker.connection(), unknown, kLong));
  const auto released = worker.run(claimer.release(worker.connection(), unknown));
  const auto fired = worker.run(claimer.fire(worker.connection(), unknown));
  for (const auto& error : {renewed.error(), released.error(), fired.error()}) {
    EXPECT_EQ(error.code, Errc::kNotFound);
    EXPECT_THAT(error.message, HasSubstr("nobody has no schedule 404"));
  }
}

TEST_F(Holding, ARetiredScheduleIsNeverDueAndItsHolderIsRefused) {
  add_due("acme", 1);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const Lease lease = hold(worker, claimer);
  ASSERT_TRUE(worker.run(retire_schedule(worker.connection(), schema_, "acme", 1)));

  const auto fired = worker.run(claimer.fire(worker.connection(), lease));
  EXPECT_THAT(fired.error().message, HasSubstr("schedule 1 of acme is retired"));
  EXPECT_TRUE(worker.run(claimer.claim(worker.connection(), request("acme")))->empty());
  const auto twice = worker.run(retire_schedule(worker.connection(), schema_, "acme", 1));
  EXPECT_EQ(twice.error().code, Errc::kNotFound);

  // Made anew, its tokens go on: one of the old life must never pass for one of the new.
  const ScheduleSpec spec{
      "acme", 1,   Timestamp{std::chrono::seconds{1'600'000'000}}, std::chrono::hours{24},
      "UTC",  true};
  const auto added = worker.run(add_schedule(worker.connection(), schema_, spec));
  EXPECT_TRUE(added && *added);
  EXPECT_GT(hold(worker, claimer).fence, lease.fence);
}

TEST_F(Holding, AClaimInsideALongTransactionLeasesFromItsOwnMoment) {
  // now() is the start of the transaction: a lease counted from there would be over when it is
  // given.
  add_due("acme", 1);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  ASSERT_TRUE(worker.run(worker.connection().query("BEGIN")));
  ASSERT_TRUE(worker.run(worker.connection().query("SELECT pg_sleep(1.2)")));
  const Lease lease = hold(worker, claimer, std::chrono::milliseconds{1000});
  const auto seen = worker.run(worker.connection().query(fmt::format(
      "SELECT (lease_until > now() + interval '2 s')::int FROM \"{}\".schedules", schema_)));
  ASSERT_TRUE(worker.run(worker.connection().query("COMMIT")));
  EXPECT_EQ(seen->text(0, 0), "1");
  EXPECT_EQ(lease.fence, 1);
}

TEST_F(Holding, WhatBecameDueDuringALongTransactionCanBeClaimedInIt) {
  add_due("acme", 1);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  ASSERT_TRUE(worker.run(worker.connection().query("BEGIN")));
  ASSERT_TRUE(worker.run(worker.connection().query("SELECT 1")));
  sql().rows("UPDATE schedules SET next_fire = clock_timestamp()");
  EXPECT_EQ(hold(worker, claimer).schedule, 1);
  ASSERT_TRUE(worker.run(worker.connection().query("COMMIT")));
}

TEST_F(Holding, ABatchSaysOfEachLeaseWhetherItHeld) {
  add_due("a\"b", 2);
  add_due("c,d", 2);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  auto leases = worker.run(claimer.claim(worker.connection(), request("a\"b", 2)));
  const auto others = worker.run(claimer.claim(worker.connection(), request("c,d", 2)));
  leases->insert(leases->end(), others->begin(), others->end());
  sql().rows("UPDATE schedules SET fence = fence + 1 WHERE tenant = 'c,d' AND schedule = 2");

  const auto renewed = worker.run(claimer.renew_all(worker.connection(), *leases, kLong));
  ASSERT_TRUE(renewed) << renewed.error().message;
  EXPECT_EQ(renewed->done.size(), 3U);
  ASSERT_EQ(renewed->lost.size(), 1U);
  EXPECT_EQ(renewed->lost.front().tenant, "c,d");
  EXPECT_EQ(renewed->lost.front().schedule, 2);

  const auto released = worker.run(claimer.release_all(worker.connection(), *leases));
  EXPECT_EQ(released->done.size(), 3U);
  EXPECT_EQ(count("SELECT count(*) FROM schedules WHERE lease_until = '-infinity'"), 3);
}

TEST_F(Holding, DueListsWithoutClaiming) {
  add_due("acme", 5);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const Lease held = hold(worker, claimer);
  const auto due = worker.run(claimer.due(worker.connection(), "acme", 10));
  ASSERT_EQ(due->size(), 4U);
  for (const Due& one : *due) EXPECT_NE(one.schedule, held.schedule);
  EXPECT_EQ(worker.run(claimer.due(worker.connection(), "acme", 2))->size(), 2U);
  EXPECT_EQ(worker.run(claimer.due(worker.connection(), "acme", 0)).error().code,
            Errc::kInvalidArgument);
  EXPECT_EQ(count("SELECT sum(fence) FROM schedules"), 1);
}

TEST_F(Holding, ClaimsRenewalsAndReleasesTouchNoIndex) {
  add_due("acme", 20);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  for (int round = 0; round < 200; ++round) {
    const Lease lease = hold(worker, claimer);
    ASSERT_TRUE(worker.run(claimer.renew(worker.connection(), lease, kLong)));
    ASSERT_TRUE(worker.run(claimer.release(worker.connection(), lease)));
  }
  expect_heap_only(worker, 600);
}

TEST_F(Holding, ABatchThatTakesEveryRowOfAPageTouchesNoIndex) {
  add_due("acme", 1000);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const auto leases = worker.run(claimer.claim(worker.connection(), request("acme", kMaxBatch)));
  ASSERT_EQ(leases->size(), kMaxBatch);
  expect_heap_only(worker, 1000);
}

}  // namespace
}  // namespace plimsoll::lease
