#include "lib/store_sql/statements.hpp"

#include <gmock/gmock.h>

namespace plimsoll::store {
namespace {

using ::testing::HasSubstr;

TEST(StoreStatements, SpeakOfTheirSchemaHoweverItIsCalled) {
  const auto all = statements_for("Odd \"name\"");
  ASSERT_TRUE(all) << all.error().message;
  for (const std::string& sql : {all->ddl, all->insert.sql, all->update.sql, all->read.sql,
                                 all->binary.in, all->binary.out, all->text.in, all->text.out}) {
    EXPECT_THAT(sql, HasSubstr(R"("Odd ""name""".items)"));
  }
}

TEST(StoreStatements, OfTwoSchemasHaveDifferentNames) {
  const auto a = statements_for("a");
  const auto b = statements_for("b");
  EXPECT_NE(a->insert.name, b->insert.name);
  EXPECT_NE(a->insert.name, a->update.name);
}

TEST(StoreStatements, HaveNoNamesWhereNothingMayBePrepared) {
  const auto all = statements_for("a", Prepared::kNever);
  EXPECT_EQ(all->insert.name + all->update.name + all->read.name, "");
}

TEST(StoreStatements, RefuseASchemaThatCannotBe) {
  EXPECT_EQ(statements_for("").error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace plimsoll::store
