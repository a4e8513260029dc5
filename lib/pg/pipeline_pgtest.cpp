#include "lib/pg/connection.hpp"
#include "lib/pg/server_pgtest.hpp"

namespace plimsoll::pg {
namespace {

class PipelineTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (HasFatalFailure()) return;
    plain().text(
        "CREATE TABLE parent (id int PRIMARY KEY);"
        "CREATE TABLE t (n int PRIMARY KEY, parent int REFERENCES parent "
        "DEFERRABLE INITIALLY DEFERRED)");
    connection_ = connect();
  }
  static Query insert(int n) { return {"INSERT INTO t (n) VALUES ($1)", params(n)}; }

  std::unique_ptr<Connection> connection_;
};

TEST_F(PipelineTest, IsOneTransactionInOneRoundTrip) {
  const auto results = run(connection_->pipeline(
      {insert(1), insert(2), Query("SELECT txid_current()"), Query("SELECT txid_current()")}));
  ASSERT_EQ(results.size(), 4U);
  for (const auto& result : results) ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(results[2]->text(0, 0), results[3]->text(0, 0));
  EXPECT_EQ(connection_->counters().round_trips, 1U);
  EXPECT_EQ(connection_->counters().commits, 1U);
}

TEST_F(PipelineTest, IsUndoneAsAWholeWhenOneStatementFails) {
  const auto results = run(connection_->pipeline({insert(1), insert(1), insert(2)}));
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[0].has_value());
  EXPECT_EQ(results[1].error().code, Errc::kConflict);
  EXPECT_EQ(results[1].error().sqlstate, "23505");
  EXPECT_EQ(results[2].error().code, Errc::kCancelled);
  EXPECT_THAT(results[2].error().message, ::testing::HasSubstr("earlier statement"));
  EXPECT_EQ(plain().text("SELECT count(*) FROM t"), "0");
  EXPECT_EQ(connection_->counters().commits, 0U);
}

TEST_F(PipelineTest, OfNothingSendsNothing) {
  EXPECT_TRUE(run(connection_->pipeline({})).empty());
  EXPECT_EQ(connection_->counters(), Counters{});
}

TEST_F(PipelineTest, OneBadStatementRefusesAllBeforeAnythingIsSent) {
  using namespace std::string_literals;
  const auto results = run(connection_->pipeline({insert(1), Query("SELECT '\0'"s)}));
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].error().code, Errc::kInvalidArgument);
  EXPECT_EQ(connection_->counters(), Counters{});
}

TEST_F(PipelineTest, AnErrorAtTheCommitReachesItsCallerAndNobodyElse) {
  std::vector<asio::awaitable<std::vector<Result<Rows>>>> works;
  works.push_back(connection_->pipeline({insert(1), Query("SELECT 1")}));
  works.push_back(connection_->pipeline(
      {Query("INSERT INTO t VALUES (2, 77)"), Query("SELECT 'before the commit'")}));
  works.push_back(connection_->pipeline({insert(3), Query("SELECT 3")}));
  works.push_back(connection_->pipeline({insert(4), Query("SELECT 4")}));
  const auto results = run_all(std::move(works));
  EXPECT_TRUE(results[0][1].has_value());
  ASSERT_FALSE(results[1][1]);
  EXPECT_EQ(results[1][1].error().sqlstate, "23503");
  ASSERT_TRUE(results[2][1]) << results[2][1].error().message;
  EXPECT_EQ(results[2][1]->integer(0, 0), 3);
  EXPECT_EQ(results[3][1]->integer(0, 0), 4);
  EXPECT_EQ(plain().text("SELECT string_agg(n::text, ',' ORDER BY n) FROM t"), "1,3,4");
  EXPECT_EQ(connection_->counters().commits, 3U);
}

TEST_F(PipelineTest, AFailingGroupAmongTenLeavesTheOthersAlone) {
  std::vector<asio::awaitable<std::vector<Result<Rows>>>> works;
  for (int i = 0; i < 10; ++i) {
    std::vector<Query> group{insert(i), Query("SELECT $1::int", params(i))};
    if (i == 4) group.insert(group.begin(), Query("SELECT 1/0"));
    works.push_back(connection_->pipeline(std::move(group)));
  }
  const auto results = run_all(std::move(works));
  for (std::size_t i = 0; i < 10; ++i) {
    if (i == 4) {
      EXPECT_EQ(results[i][0].error().sqlstate, "22012");
      EXPECT_EQ(results[i][2].error().code, Errc::kCancelled);
      continue;
    }
    ASSERT_TRUE(results[i][1]) << results[i][1].error().message;
    EXPECT_EQ(results[i][1]->integer(0, 0), static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(plain().text("SELECT count(*) FROM t"), "9");
}

TEST_F(PipelineTest, ManyCallersAtOnceAreAnsweredInOrder) {
  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < 1000; ++i) {
    works.push_back(connection_->query(Query("SELECT $1::int", params(i), "same for all")));
  }
  const auto results = run_all(std::move(works));
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    EXPECT_EQ(results[i]->integer(0, 0), static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(connection_->counters().prepares, 1U);
  EXPECT_EQ(connection_->counters().statements, 1000U);
}

TEST_F(PipelineTest, ABlockMayReachOverSeveralCalls) {
  ASSERT_TRUE(run(connection_->query("BEGIN")));
  EXPECT_FALSE(connection_->is_idle());
  ASSERT_TRUE(run(connection_->query(insert(1))));
  EXPECT_EQ(plain().text("SELECT count(*) FROM t"), "0");
  ASSERT_TRUE(run(connection_->query("COMMIT")));
  EXPECT_TRUE(connection_->is_idle());
  EXPECT_EQ(plain().text("SELECT count(*) FROM t"), "1");
  EXPECT_EQ(connection_->counters().commits, 1U);
}

TEST_F(PipelineTest, AFailedParseInAGroupFailsWhatIsBehindIt) {
  const auto results = run(connection_->pipeline(
      {insert(1), Query("SELECT nothing FROM nowhere", {}, "bad"), insert(2)}));
  EXPECT_EQ(results[1].error().sqlstate, "42P01");
  EXPECT_EQ(results[2].error().code, Errc::kCancelled);
  EXPECT_TRUE(run(connection_->query(insert(1))).has_value());
}

}  // namespace
}  // namespace plimsoll::pg
