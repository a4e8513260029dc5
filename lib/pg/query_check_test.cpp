#include "lib/pg/query_check.hpp"

#include <gmock/gmock.h>

namespace plimsoll::pg {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

TEST(QueryCheck, LetsOrdinaryQueriesPass) {
  EXPECT_TRUE(check(Query("SELECT $1, $2", params("a", std::nullopt), "name")).has_value());
  EXPECT_TRUE(check(Query("")).has_value());
}

TEST(QueryCheck, RefusesANulByteInTheText) {
  const auto checked = check(Query("SELECT 1\0, 2"s));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(checked.error().message, HasSubstr("position 8 of 12"));
}

TEST(QueryCheck, RefusesANulByteInAParameterAndSaysWhichOne) {
  const auto checked = check(Query("SELECT $1, $2", params("a", "secret\0"s)));
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("parameter $2"));
  EXPECT_THAT(checked.error().message, Not(HasSubstr("secret")));
}

TEST(QueryCheck, RefusesANulByteInTheName) { EXPECT_FALSE(check(Query("SELECT 1", {}, "a\0b"s))); }

TEST(QueryCheck, RefusesANameThatTheServerWouldCutOff) {
  EXPECT_TRUE(check(Query("SELECT 1", {}, std::string(63, 'n'))).has_value());
  EXPECT_FALSE(check(Query("SELECT 1", {}, std::string(64, 'n'))));
}

TEST(QueryCheck, RefusesOneParameterTooMany) {
  EXPECT_TRUE(check(Query("SELECT", Params(65535))).has_value());
  const auto checked = check(Query("SELECT", Params(65536)));
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("65536 parameters; at most 65535"));
}

TEST(QueryCheck, RefusesAValueThatFitsNoMessage) {
  constexpr std::size_t kLimit = 1000;
  EXPECT_TRUE(check(Query("SELECT $1", params(std::string(800, 'x'))), kLimit).has_value());
  const auto checked = check(Query("SELECT $1", params(std::string(1000, 'x'))), kLimit);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(checked.error().message, HasSubstr("1000 bytes"));
}

TEST(QueryCheck, RefusesValuesThatTogetherFitNoMessage) {
  const std::string half(600, 'x');
  const auto checked = check(Query("SELECT $1, $2", params(half, half)), 1000);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("1200 bytes together"));
}

TEST(QueryCheck, RefusesATextThatFitsNoMessage) {
  EXPECT_FALSE(check(Query(std::string(1000, ' ')), 1000));
  EXPECT_FALSE(check_script(std::string(1000, ' '), 1000));
  EXPECT_FALSE(check_script("a\0b"s));
}

TEST(Params, TakesStringsIntegersAndNull) {
  const std::string_view view = "view";
  const auto list = params("literal", std::string("string"), view, 42, -7L, std::nullopt);
  EXPECT_EQ(list, (Params{"literal", "string", "view", "42", "-7", std::nullopt}));
}

}  // namespace
}  // namespace plimsoll::pg
