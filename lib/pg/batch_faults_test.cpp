// What a batch that fails means for whom.
#include "lib/pg/batch_queue_test.hpp"

namespace plimsoll::pg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Every number and place of poisoned items in batches up to eight, both ways to write a batch.
TEST_F(BatchQueueTest, OnlyThePoisonedFailAndAllOthersAreCommittedOnce) {
  for (const bool own_statements : {false, true}) {
    for (std::size_t count = 1; count <= 8; ++count) {
      for (unsigned mask = 0; mask < (1U << count); ++mask) {
        limit_to({});
        std::set<std::string> poison;
        std::vector<TestEntryPtr> entries;
        for (std::size_t i = 0; i < count; ++i) {
          const std::string name(1, static_cast<char>('a' + i));
          if ((mask >> i & 1U) != 0) poison.insert(name);
          entries.push_back(add(name, name));
        }
        const auto committed = play(poison, own_statements);
        for (std::size_t i = 0; i < count; ++i) {
          const bool is_bad = (mask >> i & 1U) != 0;
          const std::string& name = entries[i]->item().key;
          ASSERT_TRUE(entries[i]->is_done());
          EXPECT_EQ(entries[i]->told, 1);
          EXPECT_EQ(entries[i]->result().has_value(), !is_bad);
          EXPECT_EQ(committed.contains(name) ? committed.at(name) : 0, is_bad ? 0 : 1);
        }
        EXPECT_EQ(queue_.counters().poisoned, poison.size());
        EXPECT_TRUE(queue_.is_idle());
      }
    }
  }
}

TEST_F(BatchQueueTest, FindsOnePoisonedItemInFewTransactions) {
  struct Row {
    bool own_statements;
    std::string poison;
    std::uint64_t transactions;
  };
  // Halves: the whole, then two pieces at each of 6 levels. Own statements: the whole, then what is
  // before, the culprit, what is behind; for the last one halves, since it may be the commit's
  // error, where the first half passes and each next culprit is the last again.
  for (const auto& [own, poison, expected] :
       {Row{false, "20", 13}, Row{true, "20", 4}, Row{true, "00", 3}, Row{true, "63", 13}}) {
    limit_to({});
    for (int i = 0; i < 64; ++i) {
      std::string name = std::to_string(i);
      name.insert(0, 2 - name.size(), '0');
      add(name, name);
    }
    play({poison}, own);
    EXPECT_EQ(queue_.counters().transactions, expected) << own << poison;
  }
}

TEST_F(BatchQueueTest, AFoldedItemThatIsPoisonedFailsAloneAndTheValueBeforeItIsWritten) {
  const auto first = add("k", "good");
  const auto second = add("k", "bad");
  const auto third = add("k", "worse");
  const auto other = add("a", "fine");
  const auto committed = play({"bad", "worse"}, false);
  EXPECT_TRUE(first->result().has_value());
  EXPECT_EQ(first->result()->newer(), 0U);
  EXPECT_EQ(second->result().error().sqlstate, "22003");
  EXPECT_EQ(third->result().error().sqlstate, "22003");
  EXPECT_TRUE(other->result().has_value());
  EXPECT_EQ(committed, (std::map<std::string, int>{{"fine", 1}, {"good", 1}}));
}

TEST_F(BatchQueueTest, AnErrorThatIsNobodysFaultReachesAllOfTheBatchAndNothingIsTriedAgain) {
  struct Row {
    Error error;
    bool was_sent;
    bool is_unknown;
  };
  const std::vector<Row> rows{
      {sql_error("40001", Errc::kConflict), true, false},
      {sql_error("40P01", Errc::kConflict), true, false},
      {sql_error("40003", Errc::kConflict), true, true},
      {sql_error("55P03", Errc::kConflict), true, false},
      {sql_error("57014", Errc::kCancelled), true, false},
      {sql_error("53100", Errc::kBusy), true, false},
      {sql_error("42P01"), true, false},
      {sql_error("57P01", Errc::kUnavailable), true, true},
      {sql_error("08006", Errc::kUnavailable), true, true},
      {{Errc::kUnavailable, "lost", {}}, true, true},
      {{Errc::kUnavailable, "nobody there", {}}, false, false},
      {{Errc::kTimeout, "late", {}}, true, true},
      {{Errc::kTimeout, "no connection", {}}, false, false},
      {{Errc::kProtocol, "odd", {}}, true, true},
      {{Errc::kInternal, "no descriptor", {}}, true, true},
      {{Errc::kBusy, "pool", {}}, false, false},
  };
  for (const auto& [error, was_sent, is_unknown] : rows) {
    limit_to({});
    const std::vector<TestEntryPtr> entries{add("a"), add("b"), add("b")};
    begin();
    queue_.on_failed({error, std::nullopt, was_sent});
    for (const auto& entry : entries) {
      ASSERT_TRUE(entry->is_done());
      const Error& told = entry->result().error();
      EXPECT_EQ(told.code, error.code);
      EXPECT_THAT(told.message, HasSubstr(error.message));
      EXPECT_EQ(is_outcome_unknown(told), is_unknown) << error.message << error.sqlstate;
      EXPECT_EQ(told.sqlstate, is_unknown ? std::string(kUnknownOutcome) : error.sqlstate);
    }
    EXPECT_THAT(begin(), IsEmpty());
  }
}

TEST_F(BatchQueueTest, KnowsWhoseFaultAnErrorIs) {
  struct Row {
    std::string sqlstate;
    Blame shared;
    Blame own;
  };
  for (const auto& [sqlstate, shared, own] :
       {Row{"21000", Blame::kItem, Blame::kItem}, Row{"22003", Blame::kItem, Blame::kItem},
        Row{"23505", Blame::kItem, Blame::kItem}, Row{"42501", Blame::kItem, Blame::kItem},
        Row{"44000", Blame::kItem, Blame::kItem}, Row{"54000", Blame::kItem, Blame::kItem},
        Row{"P0001", Blame::kItem, Blame::kItem}, Row{"42601", Blame::kNobody, Blame::kItem},
        Row{"42P01", Blame::kNobody, Blame::kItem}, Row{"0A000", Blame::kNobody, Blame::kItem},
        Row{"40001", Blame::kNobody, Blame::kNobody}, Row{"25006", Blame::kNobody, Blame::kNobody},
        Row{"55P03", Blame::kNobody, Blame::kNobody}, Row{"57014", Blame::kNobody, Blame::kNobody},
        Row{"XX000", Blame::kNobody, Blame::kNobody}}) {
    EXPECT_EQ(blame_of(sql_error(sqlstate), false), shared) << sqlstate;
    EXPECT_EQ(blame_of(sql_error(sqlstate), true), own) << sqlstate;
  }
  EXPECT_EQ(blame_of({Errc::kInvalidArgument, "a NUL byte", {}}, false), Blame::kItem);
  EXPECT_EQ(blame_of({Errc::kTimeout, "late", {}}, true), Blame::kNobody);
}

TEST_F(BatchQueueTest, AnErrorOfOnePartLeavesTheOtherPartsTheirTry) {
  const std::vector<TestEntryPtr> entries{add("a"), add("b"), add("c"), add("d")};
  begin();
  queue_.on_failed({sql_error("22003"), std::nullopt});
  EXPECT_THAT(begin(), ElementsAre("a=v", "b=v"));
  queue_.on_failed({sql_error("40001", Errc::kConflict), std::nullopt});
  EXPECT_EQ(entries[0]->result().error().sqlstate, "40001");
  EXPECT_EQ(entries[1]->result().error().sqlstate, "40001");
  EXPECT_THAT(begin(), ElementsAre("c=v", "d=v"));
  commit(2);
  EXPECT_TRUE(entries[3]->result().has_value());
}

TEST_F(BatchQueueTest, SendsThePartsOfABatchBeforeAnythingNew) {
  add("a");
  add("b");
  begin();
  add("c");
  queue_.on_failed({sql_error("22003"), std::nullopt});
  EXPECT_THAT(begin(), ElementsAre("a=v"));
  commit(1);
  EXPECT_THAT(begin(), ElementsAre("b=v"));
  commit(1);
  EXPECT_THAT(begin(), ElementsAre("c=v"));
}

}  // namespace
}  // namespace plimsoll::pg
