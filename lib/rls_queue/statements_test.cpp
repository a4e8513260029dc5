#include "lib/rls_queue/statements.hpp"

#include <gmock/gmock.h>

namespace plimsoll::rls {
namespace {

using testing::HasSubstr;
using testing::Not;

Identity ann() { return *Identity::make("acme", "ann", {"admin"}, "bob"); }

TEST(Statements, StampEveryValueForTheTransactionOnly) {
  const auto three = statements_for({"app", false});
  ASSERT_TRUE(three);
  EXPECT_EQ(
      three->stamp,
      "SELECT num_nulls(set_config('app.tenant', $1, true), set_config('app.user', $2, true), "
      "set_config('app.roles', $3, true))");
  const auto four = statements_for({"app", true});
  EXPECT_THAT(four->stamp, HasSubstr("set_config('app.actor', $4, true)"));
  EXPECT_THAT(four->seal, HasSubstr("current_user = $5"));
}

TEST(Statements, SealEmptiesTheSessionBelowTheTransaction) {
  const auto all = statements_for({"app", false});
  EXPECT_THAT(all->seal, HasSubstr("current_setting('app.roles', true) = $3"));
  EXPECT_THAT(all->seal, HasSubstr("set_config('app.roles', '', false), "
                                   "set_config('app.tenant', $1, true)"));
}

TEST(Statements, BindTheIdentityAndNeverPutItInTheText) {
  const auto all = *statements_for({"app", true});
  const auto stamp = stamp_query(all, ann(), true);
  EXPECT_EQ(stamp.params, (pg::Params{"acme", "ann", R"({"admin"})", "bob"}));
  EXPECT_EQ(stamp.name, "rls_stamp");
  const auto seal = seal_query(all, ann(), "web", false);
  EXPECT_EQ(seal.params, (pg::Params{"acme", "ann", R"({"admin"})", "bob", "web"}));
  EXPECT_EQ(seal.name, "");
  EXPECT_THAT(stamp.sql + seal.sql, Not(HasSubstr("acme")));
}

TEST(Statements, LeaveTheActorOutWhereTheSettingsDo) {
  const auto all = *statements_for({"app", false});
  EXPECT_EQ(stamp_query(all, ann(), false).params.size(), 3U);
  EXPECT_EQ(seal_query(all, ann(), "web", false).params.size(), 4U);
}

TEST(Statements, RefuseAPrefixThatIsNoPlainName) {
  for (const char* const prefix :
       {"", "1a", "_a", "a.b", "A", "a'b", "a b", "a_name_of_more_than_thirty_bytes"}) {
    const auto refused = statements_for({prefix, false});
    ASSERT_FALSE(refused) << prefix;
    EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
    EXPECT_FALSE(probe_for({prefix, false}));
  }
}

TEST(Statements, KnowTheirOwnErrorFromOthers) {
  const std::string message =
      "invalid input syntax for type integer: \"plimsoll: the job changed its identity\"";
  EXPECT_TRUE(is_broken_seal({Errc::kRejected, message, "22P02"}));
  EXPECT_FALSE(is_broken_seal({Errc::kRejected, message, "22012"}));
  EXPECT_FALSE(
      is_broken_seal({Errc::kRejected, "invalid input syntax for type integer: \"x\"", "22P02"}));
}

TEST(Statements, ReadASettingOnceAStatementAndTakeAnEmptyOneForNone) {
  EXPECT_EQ(identity_sql("app", "tenant"),
            "(SELECT NULLIF(current_setting('app.tenant', true), ''))");
  EXPECT_EQ(identity_sql("app", "tenant", false),
            "NULLIF(current_setting('app.tenant', true), '')");
}

}  // namespace
}  // namespace plimsoll::rls
