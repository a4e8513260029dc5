#include "lib/load/ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::load {
namespace {

using testing::HasSubstr;

Ledger balanced() {
  Ledger ledger;
  ledger.planned = 22;
  ledger.started = 20;
  ledger.skipped = 2;
  ledger.ok = 10;
  ledger.busy = 1;
  ledger.failed = 4;
  ledger.timeout = 2;
  ledger.indeterminate = 1;
  ledger.in_flight = 2;
  ledger.late = 3;
  ledger.failed_by = {{"23505", 3}, {"exception", 1}};
  return ledger;
}

TEST(Ledger, ABalancedOneSaysSo) {
  EXPECT_TRUE(balanced().balances());
  EXPECT_TRUE(Ledger{}.balances());
  EXPECT_EQ(balanced().finished(), 18U);
}

TEST(Ledger, EveryFieldThatIsOffByOneIsSeen) {
  for (std::uint64_t Ledger::*field :
       {&Ledger::planned, &Ledger::started, &Ledger::ok, &Ledger::busy, &Ledger::failed,
        &Ledger::timeout, &Ledger::indeterminate, &Ledger::in_flight, &Ledger::skipped}) {
    Ledger ledger = balanced();
    ++(ledger.*field);
    EXPECT_FALSE(ledger.balances());
  }
  Ledger ledger = balanced();
  ++ledger.failed_by["23505"];
  EXPECT_FALSE(ledger.balances());
  ledger = balanced();
  ledger.late = ledger.started + 1;
  EXPECT_FALSE(ledger.balances());
}

TEST(Ledger, TheReasonHoldsBothSides) {
  Ledger ledger = balanced();
  ledger.planned = 23;
  ASSERT_TRUE(ledger.imbalance());
  EXPECT_THAT(*ledger.imbalance(), HasSubstr("planned 23 is not started 20 + skipped 2"));
  ledger = balanced();
  ledger.failed_by.clear();
  EXPECT_THAT(*ledger.imbalance(), HasSubstr("failed 4 is not the 0"));
}

TEST(Ledger, MergeAddsEveryFieldAndKeepsTheBalance) {
  Ledger sum = balanced();
  Ledger other = balanced();
  other.failed_by = {{"23505", 1}, {"57P01", 3}};
  sum.merge(other);
  EXPECT_TRUE(sum.balances());
  EXPECT_EQ(sum.planned, 44U);
  EXPECT_EQ(sum.late, 6U);
  EXPECT_EQ(sum.in_flight, 4U);
  EXPECT_EQ(sum.failed_by.at("23505"), 4U);
  EXPECT_EQ(sum.failed_by.at("57P01"), 3U);
}

}  // namespace
}  // namespace plimsoll::load
