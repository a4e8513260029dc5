#include "lib/pg/array.hpp"

#include <gtest/gtest.h>

namespace plimsoll::pg {
namespace {

std::string array(std::initializer_list<std::optional<std::string_view>> elements) {
  ArrayText text;
  for (const auto& element : elements) text.add(element);
  return text.take();
}

TEST(ArrayText, OfNothingIsTheEmptyArray) { EXPECT_EQ(array({}), "{}"); }

TEST(ArrayText, TellsNullFromTheEmptyTextAndFromTheWord) {
  EXPECT_EQ(array({std::nullopt, "", "NULL"}), R"({NULL,"","NULL"})");
}

TEST(ArrayText, EscapesQuotesAndBackslashes) {
  EXPECT_EQ(array({R"(a"b)", R"(\)", R"("\")", "plain"}), R"({"a\"b","\\","\"\\\"","plain"})");
}

TEST(ArrayText, QuotesWhatWouldEndAnElement) {
  EXPECT_EQ(array({"a,b", "{}", " "}), R"({"a,b","{}"," "})");
}

TEST(ArrayText, IsEmptyAgainAfterItWasTaken) {
  ArrayText text;
  text.add("a");
  EXPECT_EQ(text.take(), R"({"a"})");
  text.add("b");
  EXPECT_EQ(text.take(), R"({"b"})");
}

}  // namespace
}  // namespace plimsoll::pg
