#include "lib/kv_store/writers.hpp"

#include <gmock/gmock.h>

namespace plimsoll::kv {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

StatementsPtr statements() { return std::make_shared<const Statements>(*statements_for("s")); }

std::vector<pg::BatchSlot> slots(std::vector<pg::BatchItem> items) {
  std::vector<pg::BatchSlot> all;
  for (auto& item : items) all.emplace_back(std::make_shared<pg::BatchEntry>(std::move(item)));
  return all;
}

TEST(KvWriters, ASetAloneIsThePlainUpsertAndManyAreOneStatement) {
  const auto all = statements();
  const auto one = set_writer(all)->write(slots({set_item("acme", Write("k", "v"))}));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].query.sql, all->set.sql);
  EXPECT_EQ(one[0].query.params, pg::params("acme", "k", "v", std::nullopt));
  const auto many = set_writer(all)->write(
      slots({set_item("acme", Write("k", "v", milliseconds(5))), set_item("b", Write("j", "w"))}));
  ASSERT_EQ(many.size(), 1U);
  EXPECT_EQ(many[0].query.sql, all->set_many.sql);
  EXPECT_EQ(many[0].query.params.size(), 5U);
  EXPECT_EQ(many[0].query.params[3], R"({"5",NULL})");
}

TEST(KvWriters, ASwapExpectsAVersionAndACreateNone) {
  const auto all = statements();
  const auto both = swap_writer(all)->write(
      slots({swap_item("acme", Write("k", "v"), 7), swap_item("acme", Write("n", "v"), kAbsent)}));
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].query.sql, all->swap.sql);
  EXPECT_EQ(both[0].query.params.back(), "7");
  EXPECT_EQ(both[1].query.sql, all->create.sql);
  EXPECT_EQ(both[0].slot, 0U);
}

TEST(KvWriters, ItemsOfTwoTenantsAreNeverOfOneKey) {
  EXPECT_NE(set_item("a", Write("b:c", "v")).key, set_item("a:b", Write("c", "v")).key);
  EXPECT_EQ(set_item("a", Write("k", "1")).key, erase_item("a", "k").key);
}

TEST(KvWriters, ABatchIsSortedAndFoldedToTheLastOfEachKey) {
  std::vector<Write> writes;
  writes.emplace_back("b", "1", milliseconds(9));
  writes.emplace_back("a", "2");
  writes.emplace_back("b", "3");
  writes.emplace_back("b", "4", milliseconds(8));
  const auto folded = fold_writes("acme", std::move(writes));
  EXPECT_EQ(folded.slots, 2U);
  EXPECT_THAT(folded.slot_of, ElementsAre(1U, 0U, 1U, 1U));
  EXPECT_THAT(folded.newer_of, ElementsAre(2U, 0U, 1U, 0U));
  EXPECT_THAT(folded.params, ElementsAre(R"({"acme","acme"})", R"({"a","b"})", R"({"2","4"})",
                                         R"({NULL,"8"})", R"({"1","3"})"));
}

TEST(KvWriters, ARowReservesAVersionForEachWriteThatABatchMayFold) {
  EXPECT_GE(kVersionsOfAWrite, static_cast<Version>(kMaxBatch));
}

}  // namespace
}  // namespace plimsoll::kv
