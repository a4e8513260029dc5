#include "lib/rls_queue/transaction.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>

namespace plimsoll::rls {
namespace {

using testing::HasSubstr;

Identity ann() { return *Identity::make("acme", "ann"); }
Job job_of(std::vector<pg::Query> statements) { return {ann(), std::move(statements)}; }
Result<pg::Rows> ok() { return pg::Rows(); }
Result<pg::Rows> bad(std::string sqlstate, std::string message = "no") {
  return fail(Error{Errc::kRejected, std::move(message), std::move(sqlstate)});
}
Result<pg::Rows> skipped() { return fail(Errc::kCancelled, "not executed"); }

template <class... Results>
std::vector<Result<pg::Rows>> list(Results... results) {
  std::vector<Result<pg::Rows>> all;
  (all.push_back(std::move(results)), ...);
  return all;
}

constexpr std::size_t kRoom = 1000;

TEST(Transaction, WrapsAJobInStampAndSeal) {
  const auto all = *statements_for({});
  auto group = group_of(all, job_of({{"SELECT 1", {}, "one"}, {"SELECT 2"}}), "web", true);
  ASSERT_EQ(group.size(), 4U);
  EXPECT_EQ(group[0].sql, all.stamp);
  EXPECT_EQ(group[1].name, "one");
  EXPECT_EQ(group[2].sql, "SELECT 2");
  EXPECT_EQ(group[3].sql, all.seal);
  EXPECT_EQ(group[3].params.back(), "web");
}

TEST(Transaction, PreparesNothingBehindAPooler) {
  for (const auto& query :
       group_of(*statements_for({}), job_of({{"SELECT 1", {}, "one"}}), "web", false)) {
    EXPECT_EQ(query.name, "");
  }
}

TEST(Transaction, RefusesAJobBeyondItsLimits) {
  auto none = job_of({});
  EXPECT_THAT(check_job(none, false, kRoom).error().message, HasSubstr("0 statements"));
  auto many = job_of(std::vector<pg::Query>(kMaxStatements + 1, pg::Query("SELECT 1")));
  EXPECT_THAT(check_job(many, false, kRoom).error().message, HasSubstr("101 statements"));
  auto large = job_of({{"SELECT $1", {std::string(kRoom, 'x')}}});
  EXPECT_THAT(check_job(large, false, kRoom).error().message,
              HasSubstr("1009 bytes, at most 1000"));
  auto ending = job_of({{"SELECT 1"}, {"COMMIT"}});
  const auto refused = check_job(ending, false, kRoom);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("statement 2 of 2: COMMIT is refused"));
}

TEST(Transaction, RefusesAnActorThatNobodyWouldSee) {
  Job job(*Identity::make("acme", "ann", {}, "bob"), pg::Query("SELECT 1"));
  EXPECT_THAT(check_job(job, false, kRoom).error().message, HasSubstr("actor"));
  EXPECT_TRUE(check_job(job, true, kRoom));
}

TEST(Transaction, CutsCommentsOffSoThatTheFirstWordTells) {
  auto job = job_of({{"/* list */ SELECT 1"}});
  ASSERT_TRUE(check_job(job, false, kRoom));
  EXPECT_EQ(job.statements.front().sql, "SELECT 1");
}

TEST(Transaction, GivesTheRowsOfTheJobAlone) {
  const auto answers = judge(list(ok(), ok(), ok(), ok()), true);
  ASSERT_TRUE(answers);
  EXPECT_EQ(answers->size(), 2U);
  EXPECT_EQ(judge(list(ok(), ok()), false)->size(), 1U);
}

TEST(Transaction, TellsWhichStatementFailed) {
  const auto second = judge(list(ok(), ok(), bad("22012"), skipped()), true);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().sqlstate, "22012");
  EXPECT_EQ(second.error().message, "statement 2 of 2: no");
  const auto only = judge(list(ok(), bad("22012"), skipped()), true);
  EXPECT_EQ(only.error().message, "no");
}

TEST(Transaction, BlamesTheIdentityForAStampThatIsNoText) {
  const auto stamp = judge(list(bad("22021"), skipped(), skipped()), true);
  ASSERT_FALSE(stamp);
  EXPECT_EQ(stamp.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(stamp.error().message, HasSubstr("identity: no"));
  const auto late = judge(list(fail(Errc::kTimeout, "late"), ok(), ok()), true);
  EXPECT_EQ(late.error().code, Errc::kTimeout);
}

TEST(Transaction, TellsABrokenSealFromACommitThatFailed) {
  const auto broken =
      judge(list(ok(), ok(), bad("22P02", "x \"plimsoll: the job changed its identity\"")), true);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Errc::kRefused);
  const auto commit = judge(list(ok(), ok(), bad("23503", "deferred")), true);
  ASSERT_FALSE(commit);
  EXPECT_EQ(commit.error().code, Errc::kRejected);
  EXPECT_EQ(commit.error().message, "deferred");
}

}  // namespace
}  // namespace plimsoll::rls
