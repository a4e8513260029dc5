#include <gmock/gmock.h>

#include "lib/lease_claims/database_pgtest.hpp"

namespace plimsoll::lease {
namespace {

using testing::HasSubstr;

class Firing : public LeaseTest {
 protected:
  std::vector<Lease> take(Worker& worker, const Claimer& claimer, std::size_t limit = 1) {
    auto leases = worker.run(claimer.claim(worker.connection(), request("acme", limit)));
    if (!leases) throw std::runtime_error(leases.error().message);
    return *leases;
  }
  std::int64_t fires() { return count("SELECT count(*) FROM fires"); }
};

TEST_F(Firing, AFireIsRecordedMovesTheScheduleAndEndsTheLease) {
  add_due("acme", 1);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const Lease lease = take(worker, claimer).front();

  const auto fired = worker.run(claimer.fire(worker.connection(), lease));

  ASSERT_TRUE(fired) << fired.error().message;
  EXPECT_TRUE(fired->recorded);
  EXPECT_EQ(fired->next_fire, lease.fire_time + std::chrono::hours{24});
  EXPECT_EQ(count("SELECT count(*) FROM fires f JOIN schedules s USING (tenant, schedule) WHERE "
                  "f.fence = 1 AND "
                  "s.next_fire = f.fire_time + interval '1 day' AND s.lease_until = '-infinity'"),
            1);
}

TEST_F(Firing, AFireRepeatedAfterALostAnswerIsToldAsRecorded) {
  add_due("acme", 1);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const Lease lease = take(worker, claimer).front();
  ASSERT_TRUE(worker.run(claimer.fire(worker.connection(), lease)));
  const auto again = worker.run(claimer.fire(worker.connection(), lease));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->recorded);
  EXPECT_EQ(fires(), 1);
  const auto renewed = worker.run(claimer.renew(worker.connection(), lease, kLong));
  EXPECT_THAT(renewed.error().message, HasSubstr("has fired already"));
}

TEST_F(Firing, AFireTimeThatIsThereAlreadyIsNotFiredAgain) {
  // A clock that steps back, a restored backup, a hand: something moves the schedule back.
  add_due("acme", 1);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const Lease first = take(worker, claimer).front();
  ASSERT_TRUE(worker.run(claimer.fire(worker.connection(), first)));
  sql().rows(
      "UPDATE schedules SET next_fire = next_fire - interval '1 day', next_local = next_local - "
      "interval '1 day'");
  const Lease second = take(worker, claimer).front();
  ASSERT_EQ(second.fire_time, first.fire_time);

  const auto fired = worker.run(claimer.fire(worker.connection(), second));

  ASSERT_TRUE(fired) << fired.error().message;
  EXPECT_FALSE(fired->recorded);
  EXPECT_EQ(fires(), 1);
  EXPECT_TRUE(take(worker, claimer).empty()) << "it has moved on";
}

TEST_F(Firing, ANewClaimRightAfterAFastFireFindsNothing) {
  add_due("acme", 1);
  Worker a(dsn_);
  Worker b(dsn_);
  const Claimer claimer = this->claimer();
  ASSERT_TRUE(a.run(claimer.fire(a.connection(), take(a, claimer).front())));
  for (int look = 0; look < 20; ++look) EXPECT_TRUE(take(b, claimer).empty());
}

TEST_F(Firing, AFireWhoseRecordFailsChangesNothing) {
  add_due("acme", 1);
  sql().rows("ALTER TABLE fires ADD CONSTRAINT broken CHECK (fence < 0)");
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const Lease lease = take(worker, claimer).front();
  const std::string before = sql().text("SELECT s::text FROM schedules s");
  const auto fired = worker.run(claimer.fire(worker.connection(), lease));
  ASSERT_FALSE(fired);
  EXPECT_EQ(fired.error().sqlstate, "23514");
  EXPECT_EQ(sql().text("SELECT s::text FROM schedules s"), before) << "still held, still due";
}

TEST_F(Firing, MissedSlotsAreFiredInTurnOrMergedAsTheScheduleSays) {
  add_due("acme", 1);
  sql().rows(
      "UPDATE schedules SET next_fire = next_fire - interval '250 s', next_local = next_local - "
      "interval '250 s', "
      "period_s = 100");
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  std::vector<Timestamp> fired;
  for (auto leases = take(worker, claimer); !leases.empty(); leases = take(worker, claimer)) {
    fired.push_back(leases.front().fire_time);
    ASSERT_TRUE(worker.run(claimer.fire(worker.connection(), leases.front())));
  }
  // The first slot lay 310 s back: it and the three since were missed.
  ASSERT_GE(fired.size(), 4U);
  for (std::size_t i = 1; i < fired.size(); ++i)
    EXPECT_EQ(fired[i] - fired[i - 1], std::chrono::seconds{100});

  sql().rows(
      "UPDATE schedules SET next_fire = next_fire - interval '100000 s', next_local = next_local - "
      "interval "
      "'100000 s', catch_up = false");
  const auto merged = take(worker, claimer);
  ASSERT_EQ(merged.size(), 1U);
  const auto next = worker.run(claimer.fire(worker.connection(), merged.front()));
  ASSERT_TRUE(next);
  EXPECT_EQ((next->next_fire - merged.front().fire_time).count() % 100'000'000, 0)
      << "on the same grid";
  EXPECT_EQ(count("SELECT (next_fire > clock_timestamp() - interval '60 s' AND next_fire <= "
                  "clock_timestamp() + "
                  "interval '100 s')::int FROM schedules"),
            1);
}

TEST_F(Firing, RestartsNeitherFireNorPostpone) {
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const auto now =
      std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  ScheduleSpec spec{"acme", 1, now - std::chrono::hours{1}, std::chrono::hours{100}, "UTC", true};
  std::size_t fired = 0;
  for (int start = 0; start < 5; ++start) {
    Worker restarted(dsn_);
    spec.first = now - std::chrono::hours{1} + std::chrono::seconds{start};
    const auto added = restarted.run(add_schedule(restarted.connection(), schema_, spec));
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_EQ(*added, start == 0);
    for (const Lease& lease : take(restarted, claimer)) {
      ASSERT_TRUE(restarted.run(claimer.fire(restarted.connection(), lease)));
      ++fired;
    }
  }
  EXPECT_EQ(fired, 1U);
  EXPECT_EQ(fires(), 1);
}

TEST_F(Firing, AnUnknownZoneIsRefusedByName) {
  Worker worker(dsn_);
  const ScheduleSpec spec{"acme", 1, Timestamp{}, std::chrono::hours{1}, "Mars/Olympus", true};
  const auto added = worker.run(add_schedule(worker.connection(), schema_, spec));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(added.error().message, HasSubstr("Mars/Olympus"));
}

TEST_F(Firing, ABatchTellsRecordedRepeatedDuplicateAndLostApart) {
  add_due("acme", 4);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const auto leases = take(worker, claimer, 4);
  ASSERT_EQ(leases.size(), 4U);
  ASSERT_TRUE(worker.run(claimer.fire(worker.connection(), leases[1])));  // Its answer is "lost".
  sql().rows(
      fmt::format("INSERT INTO fires (tenant, schedule, fire_time, fence) SELECT tenant, schedule, "
                  "next_fire, 0 "
                  "FROM schedules WHERE schedule = {}",
                  leases[2].schedule));
  sql().rows(fmt::format("UPDATE schedules SET lease_until = clock_timestamp() WHERE schedule = {}",
                         leases[3].schedule));

  const auto batch = worker.run(claimer.fire_all(worker.connection(), leases));

  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->recorded.size(), 2U);
  ASSERT_EQ(batch->duplicate.size(), 1U);
  EXPECT_EQ(batch->duplicate.front().schedule, leases[2].schedule);
  ASSERT_EQ(batch->lost.size(), 1U);
  EXPECT_EQ(batch->lost.front().schedule, leases[3].schedule);
  EXPECT_EQ(fires(), 3);
}

TEST_F(Firing, AThousandFiresAreOneStatement) {
  add_due("acme", 1000);
  Worker worker(dsn_);
  const Claimer claimer = this->claimer();
  const auto leases = take(worker, claimer, kMaxBatch);
  const auto before = worker.connection().counters().round_trips;
  const auto batch = worker.run(claimer.fire_all(worker.connection(), leases));
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->recorded.size(), kMaxBatch);
  EXPECT_EQ(worker.connection().counters().round_trips, before + 1);
  EXPECT_EQ(fires(), 1000);
}

}  // namespace
}  // namespace plimsoll::lease
