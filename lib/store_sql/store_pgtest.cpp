#include "lib/store_sql/store_pgtest.hpp"

#include <set>

namespace plimsoll::store {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

TEST_F(StoreTest, InsertsAndReadsBackWhatWasGiven) {
  for (const std::string& body :
       {""s, "plain"s, "'quotes' \"and\" \\ \t\n \xc3\xa4"s, std::string(1'000'000, 'x')}) {
    const auto id = run(store_->insert(*connection_, Content(42, body)));
    ASSERT_TRUE(id) << id.error().message;
    EXPECT_EQ(run(store_->read(*connection_, *id)), Content(42, body));
  }
}

TEST_F(StoreTest, InstallingTwiceChangesNothing) {
  ASSERT_TRUE(run(store_->insert(*connection_, Content(1, "a"))));
  EXPECT_TRUE(run(store_->install(*connection_)));
  EXPECT_EQ(sql("SELECT count(*) FROM items"), "1");
}

TEST_F(StoreTest, ConcurrentInsertsGetDifferentIds) {
  std::vector<asio::awaitable<Result<std::int64_t>>> works;
  for (int i = 0; i < 100; ++i) works.push_back(store_->insert(*connection_, Content(i, "a")));
  std::set<std::int64_t> ids;
  for (const auto& id : run_all(std::move(works))) {
    ASSERT_TRUE(id) << id.error().message;
    ids.insert(*id);
  }
  EXPECT_EQ(ids.size(), 100U);
  EXPECT_EQ(sql("SELECT count(*) || ' ' || sum(amount) FROM items"), "100 4950");
}

TEST_F(StoreTest, ABodyWithANulByteIsRefusedBeforeItIsSent) {
  const auto refused = run(store_->insert(*connection_, Content(1, "a\0b"s)));
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("NUL"));
  EXPECT_EQ(sql("SELECT count(*) FROM items"), "0");
}

TEST_F(StoreTest, BadUtf8IsTheServersErrorAndTheConnectionGoesOn) {
  EXPECT_EQ(run(store_->insert(*connection_, Content(1, "\xff"))).error().sqlstate, "22021");
  EXPECT_TRUE(run(store_->insert(*connection_, Content(1, "fine"))));
}

TEST_F(StoreTest, AnIdThatDoesNotExistIsNotFound) {
  EXPECT_EQ(run(store_->read(*connection_, 7)).error().code, Errc::kNotFound);
  EXPECT_EQ(run(store_->update(*connection_, Change(7, 1))).error().code, Errc::kNotFound);
  EXPECT_EQ(run(store_->read_then_update(*connection_, Change(7, 1))).error().code,
            Errc::kNotFound);
}

TEST_F(StoreTest, AnUpdateAddsAlsoWhereManyMeetOnOneItem) {
  const auto id = *run(store_->insert(*connection_, Content(10, "a")));
  const auto other = connect();
  std::vector<asio::awaitable<Result<void>>> works;
  for (int i = 0; i < 50; ++i) {
    works.push_back(store_->update(i % 2 == 0 ? *connection_ : *other, Change(id, 3)));
  }
  for (const auto& done : run_all(std::move(works))) EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(sql("SELECT amount FROM items"), "160");
}

TEST_F(StoreTest, AnAmountThatOverflowsIsRefusedAndStays) {
  const auto id = *run(store_->insert(*connection_, Content(INT64_MAX, "a")));
  EXPECT_EQ(run(store_->update(*connection_, Change(id, 1))).error().sqlstate, "22003");
  EXPECT_EQ(sql("SELECT amount FROM items"), std::to_string(INT64_MAX));
}

TEST_F(StoreTest, APipelineOfInsertsIsOneTransactionAndAnswersInOrder) {
  std::vector<Content> contents;
  for (int i = 0; i < 10; ++i) contents.emplace_back(i, "body");
  const auto before = connection_->counters();
  const auto ids = run(store_->insert_all(*connection_, contents));
  ASSERT_TRUE(ids) << ids.error().message;
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(run(store_->read(*connection_, (*ids)[i]))->amount, static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(sql("SELECT count(DISTINCT xmin::text) FROM items"), "1");
  EXPECT_EQ(connection_->counters().round_trips - before.round_trips, 11U);
}

TEST_F(StoreTest, APipelineThatFailsLeavesNothingAndSaysWhy) {
  std::vector<Content> contents{Content(1, "a"), Content(2, "\xff"), Content(3, "c")};
  const auto failed = run(store_->insert_all(*connection_, contents));
  EXPECT_EQ(failed.error().sqlstate, "22021") << "not the word of the statement behind it";
  EXPECT_EQ(sql("SELECT count(*) FROM items"), "0");
}

TEST_F(StoreTest, PipelinedUpdatesCountWhatTheyFound) {
  const auto ids = *run(
      store_->insert_all(*connection_, std::vector<Content>{Content(1, "a"), Content(2, "b")}));
  const auto found = run(store_->update_all(
      *connection_, std::vector<Change>{Change(ids[1], 5), Change(999, 1), Change(ids[0], 7)}));
  EXPECT_EQ(found, 2U);
  EXPECT_EQ(sql("SELECT string_agg(amount::text, ' ' ORDER BY id) FROM items"), "8 7");
}

TEST_F(StoreTest, PipelinedPairsReadBeforeTheyWrite) {
  const auto ids = *run(
      store_->insert_all(*connection_, std::vector<Content>{Content(1, "a"), Content(2, "b")}));
  const auto read = run(store_->read_and_update_all(
      *connection_, std::vector<Change>{Change(ids[1], 5), Change(999, 1), Change(ids[0], 7),
                                        Change(ids[1], 1)}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(*read, ElementsAre(Optional(Content(2, "b")), std::nullopt, Optional(Content(1, "a")),
                                 Optional(Content(7, "b"))));
  EXPECT_EQ(sql("SELECT string_agg(amount::text, ' ' ORDER BY id) FROM items"), "8 8");
}

// Two connections change the same items in opposite orders, again and again.
TEST_F(StoreTest, PipelinesOverTheSameItemsDoNotDeadlock) {
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(*run(store_->insert(*connection_, Content(0, "a"))));
  const auto other = connect();
  for (int round = 0; round < 30; ++round) {
    std::vector<Change> up;
    for (const auto id : ids) up.emplace_back(id, 1);
    const std::vector<Change> down(up.rbegin(), up.rend());
    std::vector<asio::awaitable<Result<std::size_t>>> works;
    works.push_back(store_->update_all(*connection_, up));
    works.push_back(store_->update_all(*other, down));
    for (const auto& found : run_all(std::move(works))) {
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(*found, 10U);
    }
  }
  EXPECT_EQ(sql("SELECT sum(amount) FROM items"), "600");
}

TEST_F(StoreTest, WithoutNamesNothingIsPrepared) {
  const auto plain = Store::make(schema_->name(), Prepared::kNever);
  ASSERT_TRUE(run(plain->insert(*connection_, Content(1, "a"))));
  EXPECT_EQ(connection_->counters().prepares, 0U);
  ASSERT_TRUE(run(store_->insert(*connection_, Content(1, "a"))));
  EXPECT_EQ(connection_->counters().prepares, 1U);
}

}  // namespace
}  // namespace plimsoll::store
