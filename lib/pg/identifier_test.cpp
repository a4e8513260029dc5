#include "lib/pg/identifier.hpp"

#include <gmock/gmock.h>

namespace plimsoll::pg {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

TEST(QuotedIdentifier, StandsForExactlyTheName) {
  EXPECT_EQ(quoted_identifier("plain"), R"("plain")");
  EXPECT_EQ(quoted_identifier("Two \"Words\"; DROP"), R"("Two ""Words""; DROP")");
}

TEST(QuotedIdentifier, RefusesWhatNoNameCanBe) {
  EXPECT_THAT(quoted_identifier("").error().message, HasSubstr("empty"));
  EXPECT_THAT(quoted_identifier("a\0b"s).error().message, HasSubstr("NUL"));
  EXPECT_THAT(quoted_identifier(std::string(64, 'x')).error().message, HasSubstr("64 bytes"));
  EXPECT_TRUE(quoted_identifier(std::string(63, 'x')));
}

TEST(StatementName, IsOfItsTextAndFitsAName) {
  EXPECT_EQ(statement_name("insert", "SELECT 1"), statement_name("insert", "SELECT 1"));
  EXPECT_NE(statement_name("insert", "SELECT 1"), statement_name("insert", "SELECT 2"));
  EXPECT_LT(statement_name("store_insert", "SELECT 1").size(), 63U);
}

}  // namespace
}  // namespace plimsoll::pg
