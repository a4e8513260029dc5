// Negative controls of the counts that the cases judge by: each protection is taken out of the
// library's SQL once, and the count that speaks of it goes red, and no other. With the statements
// as they are all stay 0.
#include <gmock/gmock.h>

#include <vector>

#include "bench/lease_claims/audited_pgtest.hpp"

namespace plimsoll::bench {
namespace {

using lease::Claimer;
using lease::kLong;
using lease::kShort;
using lease::Lease;
using lease::Statements;
using lease::Subject;
using lease::with;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class Audit : public Audited {};

TEST_F(Audit, IsGreenWhereNothingIsTakenOut) {
  for (const Subject subject : {Subject::kSkipLocked, Subject::kSkipLockedBatch, Subject::kAdvisory,
                                Subject::kUpdateReturning}) {
    begin_anew();
    const Claimer claimer(statements(subject));
    const std::size_t limit = subject == Subject::kSkipLocked ? 1 : kLimit;
    for (const Lease& lease : claim(claimer, limit)) EXPECT_TRUE(fire(claimer, lease));
    const Lease late = claim(claimer, 1, kShort).front();
    outlast(kShort);
    const Lease now = claim(claimer).front();
    EXPECT_EQ(now.schedule, late.schedule);
    EXPECT_FALSE(fire(claimer, late));
    EXPECT_TRUE(fire(claimer, now));
    claim_twice_at_once(claimer);
    EXPECT_THAT(red(), IsEmpty()) << lease::name(subject);
    EXPECT_EQ(number(kFiresDone), static_cast<std::int64_t>(limit) + 1);
    EXPECT_EQ(number(kClaimsDone), static_cast<std::int64_t>(limit) + 4);
  }
}

TEST_F(Audit, SeesATokenThatDoesNotGrow) {
  const Statements all = statements();
  const Claimer same = with_claim(all, with(all.claim, "fence = s.fence + 1", "fence = s.fence"));
  sql("DELETE FROM schedules WHERE schedule <> 1");
  for (int time = 0; time < 2; ++time) EXPECT_TRUE(fire(same, claim(same).front()));
  EXPECT_THAT(red(), ElementsAre(Pair("repeated_tokens", 1), Pair("token_regressions", 2)));
  EXPECT_EQ(number(kClaimsDone), 0) << "and the sum of the tokens is not that of the claims";
}

TEST_F(Audit, SeesATokenThatGrowsByMoreThanOne) {
  const Statements all = statements();
  (void)claim(with_claim(all, with(all.claim, "s.fence + 1", "s.fence + 2")));
  EXPECT_THAT(red(), ElementsAre(Pair("token_regressions", 1)));
}

TEST_F(Audit, SeesAClaimOfARowThatAnotherOneHolds) {
  const Statements locked = statements();
  const Statements advisory = statements(Subject::kAdvisory);
  const Statements compared = statements(Subject::kUpdateReturning);
  const std::vector<Claimer> open{
      with_claim(locked, with(by_key(locked.claim), lease::kRowLocks)),
      with_claim(advisory, with(with(by_key(advisory.claim), lease::kSecondLook),
                                "pg_try_advisory_xact_lock(", "0 <> (")),
      with_claim(compared, with(with(by_key(compared.claim), lease::kSecondLook),
                                "AND s.fence = due.fence"))};
  for (const Claimer& claimer : open) {
    begin_anew();
    claim_twice_at_once(claimer);
    EXPECT_THAT(red(), ElementsAre(Pair("held_rows_claimed", 1))) << claimer.statements().claim.sql;
  }
}

TEST_F(Audit, SeesAWriteOfASupersededHolder) {
  const Statements all = statements();
  const Claimer blind = with_fire(all, with(all.fire, lease::kToken, "AND $3::bigint > 0"));
  const Lease late = claim(blind, 1, kShort).front();
  outlast(kShort);
  (void)claim(blind);
  EXPECT_TRUE(fire(blind, late));
  EXPECT_THAT(red(), ElementsAre(Pair("stale_writes_accepted", 1)));
}

TEST_F(Audit, SeesAWriteAfterTheLeaseThatNobodyTookOver) {
  const Statements all = statements();
  const Claimer timeless = with_fire(all, with(all.fire, lease::kClock));
  const Lease late = claim(timeless, 1, kShort).front();
  outlast(kShort);
  EXPECT_TRUE(fire(timeless, late));
  EXPECT_THAT(red(), ElementsAre(Pair("stale_writes_accepted", 1)));
}

TEST_F(Audit, SeesAClaimBeyondItsLimit) {
  const Statements all = statements();
  const Claimer greedy = with_claim(all, with(all.claim, "LIMIT $4", "LIMIT $4 + 2"));
  EXPECT_EQ(claim(greedy, kLimit).size(), kLimit + 2);
  EXPECT_THAT(red(), ElementsAre(Pair("rows_claimed_beyond_limit", 2)));
}

TEST_F(Audit, SeesASlotFiredAgainWithAndWithoutTheKeyOfFires) {
  const Statements all = statements();
  const Claimer claimer(all);
  EXPECT_TRUE(fire(claimer, claim(claimer).front()));
  move_back();
  EXPECT_TRUE(fire(claimer, claim(claimer).front()));
  EXPECT_THAT(red(), ElementsAre(Pair("repeated_fires", 1))) << "the key refused the second row";

  begin_anew();
  sql("ALTER TABLE fires DROP CONSTRAINT fires_pkey");
  const Claimer keyless = with_fire(all, with(all.fire, "ON CONFLICT DO NOTHING"));
  EXPECT_TRUE(fire(keyless, claim(keyless).front()));
  move_back();
  EXPECT_TRUE(fire(keyless, claim(keyless).front()));
  EXPECT_THAT(red(), ElementsAre(Pair("duplicate_fires", 1), Pair("repeated_fires", 1)));
}

TEST_F(Audit, SeesALostFireAlsoBesideOneTooMany) {
  const Statements all = statements();
  const Claimer half = with_fire(
      all, with(all.fire, "FROM advanced\n  ON CONFLICT", "FROM advanced WHERE false ON CONFLICT"));
  EXPECT_TRUE(fire(half, claim(half).front()));
  EXPECT_THAT(red(), ElementsAre(Pair("lost_fires", 1)));
  // A slot that is still to come, of another schedule: the sums of all fires and slots are equal.
  sql("INSERT INTO fires (tenant, schedule, fire_time, fence) "
      "SELECT tenant, schedule, next_fire, fence FROM schedules WHERE schedule = 2");
  EXPECT_THAT(red(), ElementsAre(Pair("duplicate_fires", 1), Pair("lost_fires", 1)));
}

TEST_F(Audit, SeesALeaseThatDoesNotEnd) {
  const Statements all = statements();
  const auto held = [&](const Claimer& claimer) {
    begin_anew();
    (void)claim(claimer, 1, kShort);
    outlast(kShort);
    return number(kStillHeld.sql);
  };
  EXPECT_EQ(held(Claimer(all)), 0);
  EXPECT_EQ(held(with_claim(all, with(all.claim, "'1 millisecond'", "'1 hour'"))), 1);
}

TEST_F(Audit, CountsWhatAHolderLeftAndNothingElseAsTakenOver) {
  const Claimer claimer(statements());
  (void)claim(claimer, 2, kShort);
  outlast(kShort);
  (void)claim(claimer, 2, kShort, std::string(kHolderName));
  EXPECT_EQ(number(kTakeovers), 0) << "a worker's lease is no holder's";
  outlast(kShort);
  for (const Lease& lease : claim(claimer, 2)) EXPECT_TRUE(fire(claimer, lease));
  EXPECT_EQ(number(kTakeovers), 2);
  for (const Lease& lease : claim(claimer, 1, kLong, std::string(kHolderName)))
    EXPECT_TRUE(fire(claimer, lease));
  (void)claim(claimer, kLimit);
  EXPECT_EQ(number(kTakeovers), 2) << "nor is one that was ended by its fire";
  EXPECT_THAT(red(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::bench
