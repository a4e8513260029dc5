#include "lib/kv_store/statements.hpp"

#include <gmock/gmock.h>

#include <set>

namespace plimsoll::kv {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<const Statement*> all_of(const Statements& all) {
  return {&all.get,    &all.get_all, &all.set,  &all.set_many, &all.swap,
          &all.create, &all.erase,   &all.list, &all.sweep};
}

TEST(KvStatements, StandInTheSchemaUnderItsQuotedName) {
  const auto all = statements_for("odd \"name' here");
  ASSERT_TRUE(all);
  for (const Statement* one : all_of(*all)) {
    EXPECT_THAT(one->sql, HasSubstr("\"odd \"\"name' here\".entries"));
    EXPECT_THAT(one->sql, Not(HasSubstr("{"))) << "a place that was not filled";
  }
  EXPECT_THAT(all->set.sql, HasSubstr("nextval('\"odd \"\"name'' here\".versions')"));
}

TEST(KvStatements, HaveANameEachOrNone) {
  std::set<std::string> names;
  const auto prepared = statements_for("s");
  const auto plain = statements_for("s", Prepared::kNever);
  for (const Statement* one : all_of(*prepared)) EXPECT_TRUE(names.insert(one->name).second);
  for (const Statement* one : all_of(*plain)) EXPECT_EQ(one->name, "");
  EXPECT_FALSE(names.contains(statements_for("t")->get.name)) << "two texts under one name";
}

TEST(KvStatements, RefuseASchemaWithoutAName) {
  EXPECT_EQ(statements_for("").error().code, Errc::kInvalidArgument);
}

// Each of them names one tenant, or is given all tenants' rows to write; only the sweep is for all.
TEST(KvStatements, BindTheTenantWhereverTheyReadOrChangeEntries) {
  const auto all = *statements_for("s");
  for (const Statement* one : {&all.get, &all.get_all, &all.swap, &all.erase, &all.list}) {
    EXPECT_THAT(one->sql, HasSubstr("e.tenant = $1"));
  }
}

}  // namespace
}  // namespace plimsoll::kv
