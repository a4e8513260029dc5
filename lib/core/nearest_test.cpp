#include "lib/core/nearest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plimsoll {
namespace {

const std::vector<std::string> kVerbs{"up", "down", "status", "env", "guard", "clean", "doctor"};

TEST(Nearest, FindsTheWordWithALetterMissingOrTwoSwapped) {
  EXPECT_EQ(nearest("statu", kVerbs), "status");
  EXPECT_EQ(nearest("gaurd", kVerbs), "guard");
  EXPECT_EQ(nearest("doktor", kVerbs), "doctor");
  EXPECT_EQ(nearest("cleans", kVerbs), "clean");
}

TEST(Nearest, IgnoresCase) { EXPECT_EQ(nearest("DOWN", kVerbs), "down"); }

TEST(Nearest, TakesAnAbbreviationForTheWordThatItBegins) {
  EXPECT_EQ(nearest("sta", kVerbs), "status");  // "up" is as many edits away.
}

TEST(Nearest, CountsASwapAsOneEdit) {
  const std::vector<std::string> words{"axxa", "ab"};
  EXPECT_EQ(nearest("ba", words), "ab");
  const std::vector<std::string> close{"dcba", "abdc"};
  EXPECT_EQ(nearest("abcd", close), "abdc");
}

TEST(Nearest, TakesTheFirstOfEqualsAndAnExactMatchAboveAll) {
  const std::vector<std::string> words{"cat", "bat", "rat"};
  EXPECT_EQ(nearest("hat", words), "cat");
  EXPECT_EQ(nearest("rat", words), "rat");
}

TEST(Nearest, NamesSomethingForAnyWordUnlessThereIsNothingToName) {
  EXPECT_TRUE(nearest("", kVerbs).has_value());
  EXPECT_TRUE(nearest("frobnicate-the-quux", kVerbs).has_value());
  EXPECT_EQ(nearest("up", std::vector<std::string>{}), std::nullopt);
}

}  // namespace
}  // namespace plimsoll
