#include "lib/redis/reply.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::redis {
namespace {

using ::testing::HasSubstr;
using Kind = Reply::Kind;

TEST(Reply, IsNilUnlessToldOtherwise) {
  const Reply nil;
  EXPECT_TRUE(nil.is_nil());
  EXPECT_EQ(nil.text(), "");
  EXPECT_EQ(nil.value(), std::nullopt);
  EXPECT_TRUE(nil.elements().empty());
  EXPECT_EQ(nil.integer().error().code, Errc::kInvalidArgument);
  EXPECT_THAT(nil.integer().error().message, HasSubstr("nil"));
}

TEST(Reply, TellsAnEmptyStringFromNil) {
  const auto empty = Reply::of(Kind::kString, "");
  EXPECT_FALSE(empty.is_nil());
  EXPECT_EQ(empty.value(), "");
  EXPECT_NE(empty, Reply{});
}

TEST(Reply, TellsAStatusFromAString) {
  EXPECT_TRUE(Reply::of(Kind::kStatus, "OK").is_status("OK"));
  EXPECT_FALSE(Reply::of(Kind::kStatus, "QUEUED").is_status("OK"));
  EXPECT_FALSE(Reply::of(Kind::kString, "OK").is_status("OK"));
  EXPECT_EQ(Reply::of(Kind::kStatus, "OK").value(), "OK");
}

TEST(Reply, GivesIntegersAndDigitsAsIntegers) {
  EXPECT_EQ(*Reply::of(std::int64_t{-5}).integer(), -5);
  EXPECT_EQ(*Reply::of(Kind::kString, "9223372036854775807").integer(), INT64_MAX);
  for (const char* text : {"", "1x", " 1", "9223372036854775808", "1.5"}) {
    EXPECT_EQ(Reply::of(Kind::kString, text).integer().error().code, Errc::kInvalidArgument);
  }
  EXPECT_FALSE(Reply::of(Kind::kStatus, "1").integer());
}

TEST(Reply, HandsOutItsTextWithoutACopy) {
  auto reply = Reply::of(Kind::kString, std::string(100, 'x'));
  const auto* const bytes = reply.text().data();
  EXPECT_EQ(std::move(reply).take_text().data(), bytes);
}

TEST(Reply, HoldsATree) {
  Reply::Array inner;
  inner.push_back(Reply::of(std::int64_t{1}));
  Reply::Array outer;
  outer.push_back(Reply::of(std::move(inner)));
  outer.push_back(Reply::of(Kind::kError, "WRONGTYPE of key"));
  const auto tree = Reply::of(std::move(outer));
  ASSERT_EQ(tree.elements().size(), 2U);
  EXPECT_EQ(*tree.elements()[0].elements()[0].integer(), 1);
  ASSERT_TRUE(tree.elements()[1].is_error());
  EXPECT_EQ(tree.elements()[1].error().code, Errc::kRejected);
  EXPECT_EQ(tree.elements()[1].value(), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::redis
