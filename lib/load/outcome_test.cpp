#include <gtest/gtest.h>

#include "lib/load/runner.hpp"

namespace plimsoll::load {
namespace {

using Kind = Outcome::Kind;

Kind kind_of(Errc code) { return outcome_of({code, "why", {}}).kind; }

TEST(OutcomeOf, ALostConnectionLeavesItUnknownWhetherTheWorkWasDone) {
  EXPECT_EQ(kind_of(Errc::kUnavailable), Kind::kIndeterminate);
  EXPECT_EQ(kind_of(Errc::kCancelled), Kind::kIndeterminate);
}

TEST(OutcomeOf, WhatWasNeverSentHasFailedUnlessAPartOfItWasDone) {
  Error error{Errc::kUnavailable, "no connection", {}};
  error.unsent = true;
  EXPECT_EQ(outcome_of(error).kind, Kind::kFailed);
  EXPECT_EQ(outcome_of(error, true).kind, Kind::kIndeterminate);
}

TEST(OutcomeOf, ARefusalToTakeItNowIsBusyAndALateAnswerATimeOut) {
  EXPECT_EQ(kind_of(Errc::kBusy), Kind::kBusy);
  EXPECT_EQ(kind_of(Errc::kTimeout), Kind::kTimeout);
  EXPECT_EQ(kind_of(Errc::kRejected), Kind::kFailed);
}

TEST(OutcomeOf, TheKindIsTheSqlstateOrTheNameOfTheError) {
  EXPECT_EQ(outcome_of({Errc::kRejected, "why", "23505"}).error_kind, "23505");
  EXPECT_EQ(outcome_of({Errc::kTimeout, "why", {}}).error_kind, name(Errc::kTimeout));
}

TEST(OutcomeOf, AFailureIsNoWork) { EXPECT_EQ(outcome_of({Errc::kRejected, "why", {}}).items, 0U); }

}  // namespace
}  // namespace plimsoll::load
