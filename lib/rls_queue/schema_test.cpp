#include "lib/rls_queue/schema.hpp"

#include <gmock/gmock.h>

#include <string>

namespace plimsoll::rls {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Schema, BindsTheOwnerAndReadsTheIdentityOnceUnlessToldOtherwise) {
  const auto sql = ddl("app");
  ASSERT_TRUE(sql) << sql.error().message;
  EXPECT_THAT(*sql, HasSubstr("ALTER TABLE \"app\".notes ENABLE ROW LEVEL SECURITY"));
  EXPECT_THAT(*sql, HasSubstr("ALTER TABLE \"app\".notes FORCE ROW LEVEL SECURITY"));
  EXPECT_THAT(*sql, HasSubstr("tenant = (SELECT NULLIF(current_setting('plimsoll.tenant', true)"));
  EXPECT_THAT(*ddl("app", {true, false, 1, true}), Not(HasSubstr("FORCE")));
  EXPECT_THAT(*ddl("app", {true, true, 1, false}), Not(HasSubstr("(SELECT")));
}

TEST(Schema, HasAsManyPoliciesAsAskedFor) {
  const auto count = [](const std::string& sql) {
    std::size_t found = 0;
    for (auto at = sql.find("CREATE POLICY"); at != std::string::npos;
         at = sql.find("CREATE POLICY", at + 1)) {
      ++found;
    }
    return found;
  };
  for (const std::size_t policies : {0U, 1U, 10U, 50U}) {
    EXPECT_EQ(count(*ddl("app", {true, true, policies, true})), policies);
  }
  EXPECT_THAT(ddl("app", {true, true, 101, true}).error().message, HasSubstr("101 policies"));
}

TEST(Schema, QuotesNamesAndRefusesWhatIsNone) {
  EXPECT_EQ(*quoted_name("we\"ird"), "\"we\"\"ird\"");
  EXPECT_THAT(*grants("a b", "r"), HasSubstr("GRANT USAGE ON SCHEMA \"a b\" TO \"r\""));
  for (const std::string& bad : {std::string(), std::string(64, 'x'), std::string("a\0b", 3)}) {
    EXPECT_FALSE(quoted_name(bad));
    EXPECT_FALSE(ddl(bad));
    EXPECT_FALSE(grants("app", bad));
  }
  EXPECT_EQ(ddl("app", {}, "not a prefix").error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace plimsoll::rls
