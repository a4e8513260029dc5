#include "lib/pg/transaction_tracker.hpp"

#include <gtest/gtest.h>

namespace plimsoll::pg {
namespace {

TEST(TransactionTracker, AnImplicitTransactionThatWroteIsOneCommit) {
  TransactionTracker tracker;
  tracker.on_success("INSERT 0 1", "INSERT ...");
  tracker.on_success("UPDATE 3", "UPDATE ...");
  EXPECT_EQ(tracker.commits(), 0U);  // Not before the server says so.
  tracker.on_sync(false);
  EXPECT_EQ(tracker.commits(), 1U);
}

TEST(TransactionTracker, ReadsAreNoCommits) {
  TransactionTracker tracker;
  for (const char* tag : {"SELECT 1", "SHOW", "SET", "FETCH 5", ""}) {
    tracker.on_success(tag, "");
    tracker.on_sync(false);
  }
  EXPECT_EQ(tracker.commits(), 0U);
}

TEST(TransactionTracker, AFailedGroupIsNoCommit) {
  TransactionTracker tracker;
  tracker.on_success("INSERT 0 1", "INSERT ...");
  tracker.on_error("INSERT ...");
  tracker.on_sync(false);
  tracker.on_success("SELECT 1", "SELECT 1");
  tracker.on_sync(false);
  EXPECT_EQ(tracker.commits(), 0U);
}

TEST(TransactionTracker, ABlockOverSeveralGroupsIsOneCommit) {
  TransactionTracker tracker;
  tracker.on_success("BEGIN", "BEGIN");
  tracker.on_sync(std::nullopt);
  EXPECT_TRUE(tracker.in_block());
  tracker.on_success("INSERT 0 1", "INSERT ...");
  tracker.on_sync(std::nullopt);
  tracker.on_success("UPDATE 1", "UPDATE ...");
  tracker.on_sync(std::nullopt);
  EXPECT_EQ(tracker.commits(), 0U);
  tracker.on_success("COMMIT", "COMMIT");
  tracker.on_sync(std::nullopt);
  EXPECT_EQ(tracker.commits(), 1U);
  EXPECT_FALSE(tracker.in_block());
}

TEST(TransactionTracker, ARolledBackBlockIsNoCommit) {
  TransactionTracker tracker;
  tracker.on_success("BEGIN", "begin");
  tracker.on_success("INSERT 0 1", "INSERT ...");
  tracker.on_success("ROLLBACK", "rollback");
  tracker.on_success("BEGIN", "BEGIN");
  tracker.on_success("SELECT 1", "SELECT 1");
  tracker.on_success("COMMIT", "COMMIT");
  tracker.on_sync(std::nullopt);
  EXPECT_EQ(tracker.commits(), 0U);
}

TEST(TransactionTracker, CommitOfAFailedBlockIsNoCommit) {
  TransactionTracker tracker;
  tracker.on_success("BEGIN", "BEGIN");
  tracker.on_success("INSERT 0 1", "INSERT ...");
  tracker.on_error("SELECT 1/0");
  tracker.on_sync(std::nullopt);
  EXPECT_TRUE(tracker.in_block());
  tracker.on_success("ROLLBACK", "COMMIT");  // The tag that the server gives it then.
  tracker.on_sync(std::nullopt);
  EXPECT_EQ(tracker.commits(), 0U);
  EXPECT_FALSE(tracker.in_block());
}

TEST(TransactionTracker, RollbackToASavepointKeepsTheBlock) {
  TransactionTracker tracker;
  for (const char* sql :
       {"ROLLBACK TO s", "rollback work to savepoint s", "ROLLBACK\nTRANSACTION TO s"}) {
    tracker.on_success("BEGIN", "BEGIN");
    tracker.on_success("INSERT 0 1", "INSERT ...");
    tracker.on_success("ROLLBACK", sql);
    EXPECT_TRUE(tracker.in_block()) << sql;
    tracker.on_success("COMMIT", "COMMIT");
  }
  EXPECT_EQ(tracker.commits(), 3U);
}

TEST(TransactionTracker, AChainedCommitOpensTheNextBlock) {
  TransactionTracker tracker;
  tracker.on_success("BEGIN", "BEGIN");
  tracker.on_success("INSERT 0 1", "INSERT ...");
  tracker.on_success("COMMIT", "COMMIT AND CHAIN");
  EXPECT_TRUE(tracker.in_block());
  tracker.on_success("COMMIT", "COMMIT AND NO CHAIN");
  EXPECT_FALSE(tracker.in_block());
  EXPECT_EQ(tracker.commits(), 1U);
}

TEST(TransactionTracker, AFailedCommitEndsItsBlock) {
  TransactionTracker tracker;
  tracker.on_success("BEGIN", "BEGIN");
  tracker.on_success("INSERT 0 1", "INSERT ...");
  tracker.on_error(" commit;");
  tracker.on_sync(std::nullopt);
  EXPECT_FALSE(tracker.in_block());
  EXPECT_EQ(tracker.commits(), 0U);
}

TEST(TransactionTracker, TheServersWordWins) {
  TransactionTracker tracker;
  tracker.on_success("ROLLBACK", "");  // In a script: perhaps only to a savepoint.
  tracker.on_sync(true);
  EXPECT_TRUE(tracker.in_block());
}

TEST(IsRepeatable, OnlyPlainQueriesAndChangesOfRowsAre) {
  for (const char* sql : {"SELECT 1", " \n select 1", "WITH x AS (...) UPDATE", "(SELECT 1)",
                          "INSERT INTO t", "update t", "DELETE\tFROM t", "VALUES(1)"}) {
    EXPECT_TRUE(is_repeatable(sql)) << sql;
  }
  for (const char* sql : {"CALL p()", "DO $$ $$", "VACUUM", "CREATE INDEX CONCURRENTLY i", "COMMIT",
                          "BEGIN", "selection", "/* c */ SELECT 1", ""}) {
    EXPECT_FALSE(is_repeatable(sql)) << sql;
  }
}

}  // namespace
}  // namespace plimsoll::pg
