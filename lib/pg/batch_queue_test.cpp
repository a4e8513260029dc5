#include "lib/pg/batch_queue_test.hpp"

#include <libpq-fe.h>

namespace plimsoll::pg {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(BatchQueueTest, SendsALonelyItemAtOnce) {
  const auto entry = add("a");
  EXPECT_EQ(queue_.due(), now_);
  EXPECT_THAT(begin(), ElementsAre("a=v"));
  commit(1);
  ASSERT_TRUE(entry->is_done());
  EXPECT_TRUE(entry->result().has_value());
  EXPECT_EQ(entry->told, 1);
  EXPECT_TRUE(queue_.is_idle());
}

TEST_F(BatchQueueTest, CollectsWhileABatchIsInFlight) {
  add("a");
  begin();
  add("c");
  add("b");
  EXPECT_THAT(begin(), IsEmpty());
  EXPECT_EQ(queue_.due(), std::nullopt);
  commit(1);
  EXPECT_THAT(begin(), ElementsAre("b=v", "c=v"));
  EXPECT_EQ(queue_.counters().batches, 2U);
  EXPECT_EQ(queue_.counters().items, 3U);
}

TEST_F(BatchQueueTest, ClosesABatchAtItsNumberOfItems) {
  limit_to({.max_items = 2});
  for (const char* key : {"a", "b", "c"}) add(key);
  EXPECT_THAT(begin(), ElementsAre("a=v", "b=v"));
  commit(2);
  EXPECT_THAT(begin(), ElementsAre("c=v"));
}

TEST_F(BatchQueueTest, ClosesABatchBeforeItIsTooLargeButSendsALargeItemAlone) {
  limit_to({.max_bytes = 10});
  add("a", "1234");
  add("b", "1234");
  add("c", "123456789012");
  add("d", "1");
  EXPECT_THAT(begin(), ElementsAre("a=1234", "b=1234"));
  commit(2);
  EXPECT_THAT(begin(), ElementsAre("c=123456789012"));
  commit(1);
  EXPECT_THAT(begin(), ElementsAre("d=1"));
}

TEST_F(BatchQueueTest, WaitsForCompanyOnlyAsLongAsItIsTold) {
  limit_to({.max_items = 3, .max_delay = milliseconds(5)});
  add("a");
  now_ += milliseconds(2);
  add("b");
  EXPECT_THAT(begin(), IsEmpty());
  EXPECT_EQ(queue_.due(), now_ + milliseconds(3)) << "the delay is of the oldest item";
  now_ += milliseconds(3);
  EXPECT_THAT(begin(), ElementsAre("a=v", "b=v"));
  commit(2);
  for (const char* key : {"c", "d", "e"}) add(key);
  EXPECT_THAT(begin(), ElementsAre("c=v", "d=v", "e=v")) << "a full batch waits for nobody";
}

TEST_F(BatchQueueTest, SortsByKeyAndKeepsTheOrderOfEqualKeys) {
  limit_to({.same_key = SameKey::kKeep});
  add("b", "1");
  add("a", "2");
  add("b", "3");
  add("", "4");
  add("a", "5");
  add("", "6");
  EXPECT_THAT(begin(), ElementsAre("=4", "=6", "a=2", "a=5", "b=1", "b=3"));
}

TEST_F(BatchQueueTest, FoldsItemsOfOneKeyOntoTheLastAndAnswersAll) {
  std::vector<TestEntryPtr> sets{add("k", "1"), add("j", "x"), add("k", "2"), add("k", "3")};
  const std::vector<TestEntryPtr> keyless{add("", "4"), add("", "5")};
  EXPECT_THAT(begin(), ElementsAre("=4", "=5", "j=x", "k=3x3"));
  commit(4);
  ASSERT_TRUE(sets[0]->is_done() && sets[1]->is_done() && sets[2]->is_done() && sets[3]->is_done());
  EXPECT_EQ(sets[0]->result()->newer(), 2U);
  EXPECT_EQ(sets[2]->result()->newer(), 1U);
  EXPECT_EQ(sets[3]->result()->newer(), 0U);
  EXPECT_EQ(sets[1]->result()->newer(), 0U);
  EXPECT_EQ(queue_.counters().folded, 2U);
}

TEST_F(BatchQueueTest, KeepsALaterItemOfAKeyForTheNextBatchIfToldSo) {
  limit_to({.same_key = SameKey::kNextBatch});
  add("k", "1");
  add("k", "2");
  add("a", "3");
  add("k", "4");
  EXPECT_THAT(begin(), ElementsAre("a=3", "k=1"));
  commit(2);
  add("b", "5");
  EXPECT_THAT(begin(), ElementsAre("b=5", "k=2"));
  commit(2);
  EXPECT_THAT(begin(), ElementsAre("k=4"));
}

TEST_F(BatchQueueTest, HandsEachSlotItsOwnAnswer) {
  const auto b = add("b");
  const auto a = add("a");
  begin();
  PGresult* const result = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  PGresAttDesc column{};
  std::string name = "n";
  column.name = name.data();
  ASSERT_EQ(PQsetResultAttrs(result, 1, &column), 1);
  for (int row = 0; row < 2; ++row) {
    std::string text = std::to_string(row + 10);
    ASSERT_EQ(PQsetvalue(result, row, 0, text.data(), 2), 1);
  }
  const auto rows = std::make_shared<const Rows>(result);
  queue_.on_committed(std::vector<BatchAnswer>{{rows, 1}, {rows, std::nullopt}});
  EXPECT_EQ(a->result()->integer(0), 11);
  EXPECT_FALSE(b->result()->has_row());
  EXPECT_EQ(b->result()->value(0), std::nullopt);
  EXPECT_EQ(b->result()->integer(0).error().code, Errc::kInvalidArgument);
}

TEST_F(BatchQueueTest, SaysThatABatchWasCommittedWhenItsAnswersCannotBeRead) {
  const auto entry = add("a");
  begin();
  queue_.on_committed(std::vector<BatchAnswer>(2));
  EXPECT_EQ(entry->result().error().code, Errc::kInternal);
  EXPECT_THAT(entry->result().error().message, HasSubstr("was committed"));
}

TEST_F(BatchQueueTest, RefusesWhatIsBeyondItsBounds) {
  limit_to({.max_waiting = 2, .max_waiting_bytes = 100});
  add("a");
  add("b");
  const auto third = std::make_shared<TestEntry>(BatchItem("c", params("v")));
  const auto refused = queue_.add(third, now_);
  EXPECT_EQ(refused.error().code, Errc::kBusy);
  EXPECT_FALSE(third->is_done());
  EXPECT_EQ(queue_.counters().refused, 1U);
  begin();
  EXPECT_TRUE(queue_.add(third, now_).has_value()) << "what is in flight does not wait";
  const auto large = std::make_shared<TestEntry>(BatchItem("d", params(std::string(99, 'x'))));
  EXPECT_EQ(queue_.add(large, now_).error().code, Errc::kBusy);
  EXPECT_EQ(queue_.waiting(), 1U);
}

TEST_F(BatchQueueTest, AWithdrawnItemIsNeverSentAndItsBytesAreFree) {
  limit_to({.max_waiting_bytes = 10});
  const auto left = add("a", "12345");
  const auto stays = add("b", "1");
  EXPECT_TRUE(queue_.withdraw(left));
  add("c", "12345");
  EXPECT_THAT(begin(), ElementsAre("b=1", "c=12345"));
  EXPECT_FALSE(left->is_done());
  EXPECT_FALSE(queue_.withdraw(stays)) << "it is in flight";
  EXPECT_FALSE(queue_.withdraw(left));
  commit(2);
  EXPECT_TRUE(stays->is_done());
}

TEST_F(BatchQueueTest, RefusingLetsWhatWaitsBeSentWithoutDelay) {
  limit_to({.max_delay = milliseconds(5)});
  const auto entry = add("a");
  queue_.refuse({Errc::kUnavailable, "over", {}});
  const auto late = std::make_shared<TestEntry>(BatchItem("b", params("v")));
  EXPECT_EQ(queue_.add(late, now_).error().message, "over");
  EXPECT_THAT(begin(), ElementsAre("a=v"));
  commit(1);
  EXPECT_TRUE(entry->result().has_value());
}

TEST_F(BatchQueueTest, ClosingAnswersAllThatIsNotInFlight) {
  const std::vector<TestEntryPtr> entries{add("a"), add("b"), add("c"), add("d")};
  begin();
  queue_.on_failed({sql_error("22003"), std::nullopt});
  begin();  // a and b.
  const auto waiting = add("e");
  queue_.close({Errc::kUnavailable, "over", {}});
  EXPECT_FALSE(entries[0]->is_done());
  EXPECT_EQ(entries[2]->result().error().message, "over");
  EXPECT_EQ(waiting->result().error().message, "over");
  queue_.on_failed({sql_error("22003"), std::nullopt});
  EXPECT_EQ(entries[0]->result().error().message, "over") << "undone, and not sent again";
  EXPECT_THAT(begin(), IsEmpty());
  EXPECT_TRUE(queue_.is_idle());
  for (const auto& entry : entries) EXPECT_EQ(entry->told, 1);
}

TEST_F(BatchQueueTest, ABatchInFlightIsAnsweredAlsoAfterClosing) {
  const auto entry = add("a");
  begin();
  queue_.close({Errc::kUnavailable, "over", {}});
  EXPECT_FALSE(entry->is_done());
  commit(1);
  EXPECT_TRUE(entry->result().has_value());
}

}  // namespace
}  // namespace plimsoll::pg
