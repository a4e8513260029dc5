#include "lib/rls_queue/identity.hpp"

#include <gmock/gmock.h>

#include <string>

namespace plimsoll::rls {
namespace {

using testing::HasSubstr;

TEST(Identity, KeepsEveryCharacterThatIsNoNul) {
  const std::string odd = "it's \"x\": a\nb, {c} \\ \xC3\xA9 $1 --";
  const auto identity = Identity::make(odd, odd, {}, odd);
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->tenant(), odd);
  EXPECT_EQ(identity->user(), odd);
  EXPECT_EQ(identity->actor(), odd);
}

TEST(Identity, RefusesAnEmptyTenantButNoEmptyUser) {
  const auto nobody = Identity::make("", "ann");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(nobody.error().message, HasSubstr("tenant is empty"));
  EXPECT_TRUE(Identity::make("acme", ""));
}

TEST(Identity, RefusesANulWhereverItIsAndSaysWhere) {
  const std::string nul("ab\0c", 4);
  EXPECT_THAT(Identity::make(nul, "u").error().message, HasSubstr("tenant holds a NUL at byte 2"));
  EXPECT_THAT(Identity::make("t", nul).error().message, HasSubstr("user holds a NUL at byte 2"));
  EXPECT_THAT(Identity::make("t", "u", {nul}).error().message, HasSubstr("roles holds a NUL"));
  EXPECT_THAT(Identity::make("t", "u", {}, nul).error().message, HasSubstr("actor holds a NUL"));
}

TEST(Identity, RefusesAValueBeyondTheLimitAndTakesOneAtIt) {
  EXPECT_TRUE(Identity::make(std::string(kMaxIdentityBytes, 'x'), "u"));
  const auto refused = Identity::make(std::string(kMaxIdentityBytes + 1, 'x'), "u");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("8193 bytes, at most 8192"));
  const std::vector<std::string> many(1000, "ten_letters");
  EXPECT_THAT(Identity::make("t", "u", many).error().message, HasSubstr("list of roles has"));
}

TEST(Identity, WritesRolesAsAnArrayInWhichNothingIsSpecial) {
  EXPECT_EQ(Identity::make("t", "u")->roles(), "{}");
  EXPECT_EQ(Identity::make("t", "u", {"a", "b"})->roles(), R"({"a","b"})");
  EXPECT_EQ(Identity::make("t", "u", {"NULL", "", "a,b}", R"(q"\)"})->roles(),
            R"({"NULL","","a,b}","q\"\\"})");
}

}  // namespace
}  // namespace plimsoll::rls
