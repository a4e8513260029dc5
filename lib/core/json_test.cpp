#include "lib/core/json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plimsoll {
namespace {

TEST(Json, ReadsWhatItWrote) {
  const nlohmann::json value{{"name", "a\"b"}, {"list", {1, 2.5, nullptr}}};
  EXPECT_EQ(parse_json(json_text(value)), value);
  EXPECT_EQ(parse_json(json_text(value, 2)), value);
}

TEST(Json, SaysWhereTextIsBroken) {
  try {
    (void)parse_json(R"({"a": 1,, "b": 2})");
    FAIL() << "took two commas";
  } catch (const nlohmann::json::parse_error& error) {
    EXPECT_EQ(error.byte, 9U);
  }
}

TEST(Json, DiscardsWhatIsNotJson) {
  EXPECT_TRUE(try_parse_json("{\"a\": ").is_discarded());
  EXPECT_FALSE(try_parse_json("").is_object());
  EXPECT_EQ(try_parse_json("[1]"), nlohmann::json({1}));
}

TEST(Json, WritesBytesThatAreNotUtf8AsReplacement) {
  EXPECT_EQ(json_text(nlohmann::json("a\xff")), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(json_text(nlohmann::ordered_json("a\xff")), "\"a\xEF\xBF\xBD\"");
}

TEST(Json, KeepsTheOrderOfAnOrderedValue) {
  EXPECT_EQ(json_text(nlohmann::ordered_json{{"z", 1}, {"a", 2}}), R"({"z":1,"a":2})");
}

}  // namespace
}  // namespace plimsoll
