#include "lib/pg/group_queue.hpp"

#include <gtest/gtest.h>
#include <libpq-fe.h>

namespace plimsoll::pg {
namespace {

using Step = Group::Step;
using Withdrawn = GroupQueue::Withdrawn;

class TestGroup final : public Group {
 public:
  using Group::Group;
  int told = 0;

 private:
  void on_done() noexcept override { ++told; }
};
using TestGroupPtr = std::shared_ptr<TestGroup>;

Error sql_error(std::string sqlstate) { return {Errc::kRejected, "refused", std::move(sqlstate)}; }

Rows no_rows() { return Rows(PQmakeEmptyPGresult(nullptr, PGRES_COMMAND_OK)); }

class GroupQueueTest : public ::testing::Test {
 protected:
  TestGroupPtr add(std::vector<Query> queries) {
    auto group = std::make_shared<TestGroup>(std::move(queries));
    EXPECT_TRUE(queue_.add(group).has_value());
    return group;
  }
  TestGroupPtr add_one(std::string sql, std::string name = {}) {
    return add(std::vector<Query>{Query(std::move(sql), {}, std::move(name))});
  }
  TestGroupPtr add_script() {
    auto group = std::make_shared<TestGroup>(std::string("SELECT 1; SELECT 2"));
    EXPECT_TRUE(queue_.add(group).has_value());
    return group;
  }
  int send_all() {
    int sent = 0;
    while (queue_.next_to_send() != nullptr) ++sent;
    return sent;
  }
  void succeed() {
    queue_.on_rows(no_rows());
    queue_.on_end_of_command();
  }
  void answer_fully() {
    succeed();
    queue_.on_sync(std::nullopt);
  }
  void fail_with(const std::string& sqlstate) {
    queue_.on_error(sql_error(sqlstate));
    queue_.on_end_of_command();
    queue_.on_sync(std::nullopt);
  }

  GroupQueue queue_{4};
};

TEST_F(GroupQueueTest, AnswersGoToTheOldestGroup) {
  const auto first = add_one("SELECT 1");
  const auto second = add_one("SELECT 2");
  EXPECT_EQ(send_all(), 2);

  answer_fully();

  EXPECT_TRUE(first->is_done());
  EXPECT_EQ(first->told, 1);
  EXPECT_TRUE(first->statements()[0].result.has_value());
  EXPECT_FALSE(second->is_done());
}

TEST_F(GroupQueueTest, AGroupIsDoneOnlyAtItsSync) {
  const auto group = add_one("SELECT 1");
  send_all();
  succeed();
  EXPECT_FALSE(group->is_done());
  queue_.on_sync(std::nullopt);
  EXPECT_TRUE(group->is_done());
}

TEST_F(GroupQueueTest, AnErrorReachesOnlyItsOwnGroup) {
  const auto bad = add_one("SELEC 1");
  const auto good = add_one("SELECT 1");
  send_all();
  fail_with("42601");
  answer_fully();
  EXPECT_EQ(bad->statements()[0].result.error().sqlstate, "42601");
  EXPECT_TRUE(good->statements()[0].result.has_value());
}

TEST_F(GroupQueueTest, WhatStandsBehindAFailedStatementIsNotExecuted) {
  const auto group = add({Query("a"), Query("b"), Query("c")});
  send_all();
  succeed();
  queue_.on_error(sql_error("22012"));
  queue_.on_end_of_command();
  queue_.on_skipped();
  queue_.on_end_of_command();
  queue_.on_sync(std::nullopt);
  EXPECT_TRUE(group->statements()[0].result.has_value());
  EXPECT_EQ(group->statements()[1].result.error().sqlstate, "22012");
  EXPECT_EQ(group->statements()[2].result.error().code, Errc::kCancelled);
  EXPECT_EQ(queue_.counters().statements, 2U);
  EXPECT_EQ(queue_.counters().errors, 1U);
}

TEST_F(GroupQueueTest, AnErrorOfTheCommitIsTheLastStatements) {
  const auto group = add({Query("a"), Query("b")});
  send_all();
  succeed();
  succeed();
  queue_.on_error(sql_error("23503"));
  queue_.on_end_of_command();
  queue_.on_sync(std::nullopt);
  EXPECT_TRUE(group->statements()[0].result.has_value());
  EXPECT_EQ(group->statements()[1].result.error().sqlstate, "23503");
}

TEST_F(GroupQueueTest, NoMoreThanTheLimitIsInFlight) {
  for (int i = 0; i < 6; ++i) add_one("SELECT 1");
  EXPECT_EQ(send_all(), 4);
  answer_fully();
  EXPECT_EQ(send_all(), 1);
}

TEST_F(GroupQueueTest, AScriptTravelsAlone) {
  add_one("SELECT 1");
  const auto script = add_script();
  add_one("SELECT 2");
  EXPECT_EQ(send_all(), 1);
  answer_fully();
  EXPECT_EQ(send_all(), 1);
  queue_.on_rows(no_rows());
  queue_.on_rows(no_rows());
  queue_.on_sync(false);
  EXPECT_TRUE(script->is_done());
  EXPECT_EQ(queue_.counters().statements, 3U);
  EXPECT_EQ(send_all(), 1);
}

TEST_F(GroupQueueTest, TheFirstErrorOfAScriptStays) {
  const auto script = add_script();
  send_all();
  queue_.on_rows(no_rows());
  queue_.on_error(sql_error("42601"));
  queue_.on_sync(false);
  EXPECT_EQ(script->statements()[0].result.error().sqlstate, "42601");
}

TEST_F(GroupQueueTest, ANameIsParsedOnce) {
  const auto first = add_one("SELECT 1", "n");
  ASSERT_EQ(send_all(), 1);
  EXPECT_EQ(first->statements()[0].first, Step::kParse);
  succeed();
  answer_fully();
  const auto second = add_one("SELECT 1", "n");
  ASSERT_EQ(send_all(), 1);
  EXPECT_EQ(second->statements()[0].first, Step::kExecute);
  EXPECT_EQ(queue_.counters().prepares, 1U);
}

TEST_F(GroupQueueTest, ANameIsParsedOnceInOneGroup) {
  const auto group = add({Query("SELECT 1", {}, "n"), Query("SELECT 1", {}, "n")});
  ASSERT_EQ(send_all(), 1);
  EXPECT_EQ(group->statements()[0].first, Step::kParse);
  EXPECT_EQ(group->statements()[1].first, Step::kExecute);
}

TEST_F(GroupQueueTest, AGroupWaitsForTheParseOfItsName) {
  add_one("SELECT 1", "n");
  add_one("SELECT 1", "n");
  EXPECT_EQ(send_all(), 1);
  queue_.on_rows(no_rows());
  queue_.on_end_of_command();
  EXPECT_EQ(send_all(), 1);
}

TEST_F(GroupQueueTest, AFailedParseIsTriedAgainByTheNext) {
  const auto first = add_one("SELECT x", "n");
  const auto second = add_one("SELECT x", "n");
  send_all();
  queue_.on_error(sql_error("42703"));
  queue_.on_end_of_command();
  queue_.on_skipped();
  queue_.on_end_of_command();
  queue_.on_sync(std::nullopt);
  EXPECT_EQ(first->statements()[0].result.error().sqlstate, "42703");
  EXPECT_EQ(send_all(), 1);
  EXPECT_EQ(second->statements()[0].first, Step::kParse);
  EXPECT_EQ(queue_.counters().statements, 0U);
}

TEST_F(GroupQueueTest, AnotherTextUnderTheSameNameIsRefused) {
  add_one("SELECT 1", "n");
  const auto added =
      queue_.add(std::make_shared<TestGroup>(std::vector<Query>{Query("SELECT 2", {}, "n")}));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(send_all(), 1);
}

TEST_F(GroupQueueTest, ANameWhoseParseFailedIsFreeForAnotherText) {
  add_one("SELEC 1", "n");
  send_all();
  fail_with("42601");
  const auto second = add_one("SELECT 1", "n");
  EXPECT_EQ(send_all(), 1);
  EXPECT_EQ(second->statements()[0].first, Step::kParse);
}

TEST_F(GroupQueueTest, ANameThatTheServerForgotIsParsedAgain) {
  add_one("SELECT 1", "n");
  send_all();
  succeed();
  answer_fully();
  add_one("SELECT 1", "n");
  send_all();
  fail_with("26000");
  const auto third = add_one("SELECT 1", "n");
  send_all();
  EXPECT_EQ(third->statements()[0].first, Step::kParse);
}

TEST_F(GroupQueueTest, AStalePlanIsDroppedBeforeItIsParsedAgain) {
  add_one("SELECT *", "n");
  send_all();
  succeed();
  answer_fully();
  add_one("SELECT *", "n");
  send_all();
  fail_with("0A000");
  const auto third = add_one("SELECT *", "n");
  send_all();
  EXPECT_EQ(third->statements()[0].first, Step::kDeallocate);
  succeed();
  succeed();
  answer_fully();
  EXPECT_TRUE(third->statements()[0].result.has_value());
  EXPECT_EQ(queue_.counters().statements, 3U);
}

TEST_F(GroupQueueTest, AWaitingGroupThatIsWithdrawnIsNeverSent) {
  const auto group = add_one("SELECT 1");
  EXPECT_EQ(queue_.withdraw(group), Withdrawn::kUnsent);
  EXPECT_EQ(send_all(), 0);
  EXPECT_EQ(group->told, 0);
}

TEST_F(GroupQueueTest, OnlyTheGroupThatIsExecutedNeedsACancel) {
  const auto first = add_one("SELECT 1");
  const auto second = add_one("SELECT 2");
  send_all();
  EXPECT_EQ(queue_.withdraw(second), Withdrawn::kLater);
  EXPECT_EQ(queue_.withdraw(first), Withdrawn::kNow);
}

TEST_F(GroupQueueTest, TheAnswerOfAnAbandonedGroupIsDropped) {
  const auto first = add_one("SELECT 1");
  const auto second = add_one("SELECT 2");
  send_all();
  EXPECT_EQ(queue_.withdraw(first), Withdrawn::kNow);
  EXPECT_NE(queue_.abandoned_head(), nullptr);
  answer_fully();
  EXPECT_EQ(queue_.abandoned_head(), nullptr);
  EXPECT_EQ(first->told, 0);
  answer_fully();
  EXPECT_EQ(second->told, 1);
}

TEST_F(GroupQueueTest, NothingNewIsSentWhileACancelIsOnItsWay) {
  const auto first = add_one("SELECT pg_sleep(9)");
  send_all();
  EXPECT_EQ(queue_.withdraw(first), Withdrawn::kNow);
  queue_.on_cancel_started();
  add_one("SELECT 2");
  fail_with("57014");
  EXPECT_EQ(send_all(), 0);
  queue_.on_cancel_finished();
  EXPECT_EQ(send_all(), 1);
}

TEST_F(GroupQueueTest, ANeighbourHitByACancelIsSentAgain) {
  const auto first = add_one("SELECT pg_sleep(9)");
  const auto neighbour = add_one("SELECT 2");
  const auto later = add_one("SELECT 3");
  send_all();
  EXPECT_EQ(queue_.withdraw(first), Withdrawn::kNow);
  queue_.on_cancel_started();
  answer_fully();      // It was over before the cancel came.
  fail_with("57014");  // So the cancel hit the neighbour.
  answer_fully();
  queue_.on_cancel_finished();
  EXPECT_FALSE(neighbour->is_done());
  EXPECT_EQ(later->told, 1);
  EXPECT_EQ(send_all(), 1);
  answer_fully();
  EXPECT_EQ(neighbour->told, 1);
  EXPECT_TRUE(neighbour->statements()[0].result.has_value());
}

TEST_F(GroupQueueTest, ANeighbourThatMayHaveCommittedHalfwayGetsAConflict) {
  const auto first = add_one("SELECT pg_sleep(9)");
  const auto neighbour = add_one("CALL moves_rows_in_batches()");
  send_all();
  (void)queue_.withdraw(first);
  queue_.on_cancel_started();
  answer_fully();
  fail_with("57014");
  ASSERT_EQ(neighbour->told, 1);
  EXPECT_EQ(neighbour->statements()[0].result.error().code, Errc::kConflict);
  EXPECT_EQ(neighbour->statements()[0].result.error().sqlstate, "57014");
}

TEST_F(GroupQueueTest, ANeighbourInsideABlockGetsAConflict) {
  add_one("BEGIN");
  send_all();
  queue_.on_end_of_command();
  queue_.on_sync(true);
  const auto first = add_one("SELECT pg_sleep(9)");
  const auto neighbour = add_one("SELECT 2");
  send_all();
  (void)queue_.withdraw(first);
  queue_.on_cancel_started();
  succeed();
  queue_.on_sync(true);
  queue_.on_error(sql_error("57014"));
  queue_.on_end_of_command();
  queue_.on_sync(true);
  EXPECT_EQ(neighbour->statements()[0].result.error().code, Errc::kConflict);
}

TEST_F(GroupQueueTest, ACancelThatNobodyHereAskedForReachesTheCaller) {
  const auto group = add_one("SELECT 1");
  send_all();
  queue_.on_error(Error{Errc::kCancelled, "canceling statement", "57014"});
  queue_.on_end_of_command();
  queue_.on_sync(std::nullopt);
  EXPECT_EQ(group->statements()[0].result.error().code, Errc::kCancelled);
  EXPECT_EQ(group->told, 1);
}

TEST_F(GroupQueueTest, LosingTheConnectionFailsEveryGroupOnce) {
  const auto in_flight = add({Query("a"), Query("b")});
  send_all();
  succeed();
  const auto abandoned = add_one("SELECT 1");
  send_all();
  EXPECT_EQ(queue_.withdraw(abandoned), Withdrawn::kLater);
  const auto waiting = add_script();

  queue_.fail_all({Errc::kUnavailable, "gone", {}});

  EXPECT_EQ(in_flight->told, 1);
  EXPECT_EQ(in_flight->statements()[0].result.error().code, Errc::kUnavailable);
  EXPECT_EQ(abandoned->told, 0);
  EXPECT_EQ(waiting->told, 1);
  EXPECT_FALSE(queue_.has_in_flight());
  EXPECT_FALSE(queue_.has_waiting());
}

TEST_F(GroupQueueTest, CountsTextOnlyWhenItIsSent) {
  add({Query("SELECT $1", params("ab"), "n"), Query("SELECT $1", params("cde"), "n")});
  send_all();
  EXPECT_EQ(queue_.counters().bytes_sent, 9U + 2U + 3U);
  EXPECT_EQ(queue_.counters().round_trips, 1U);
}

}  // namespace
}  // namespace plimsoll::pg
