#include "compare/ab/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Listing> kListings{
    {"a", {"a/s/x", "a/s/old", "a/s/both"}, {"a/s/x", "a/s/both", "a/s/new"}},
    {"b", {"b/s/x"}, {"b/s/x"}}};

Result<ChosenTargets> choose(const std::string& filter, std::vector<AbTarget> targets = {}) {
  AbRequest request;
  request.filter = filter;
  request.targets = std::move(targets);
  return select_targets(request, kListings);
}

TEST(SelectTargets, TakesEverythingWithoutAFilter) {
  const auto chosen = choose("");
  ASSERT_TRUE(chosen.has_value());
  EXPECT_THAT(chosen->both, ElementsAre(AbTarget{"a", "a/s/both"}, AbTarget{"a", "a/s/x"},
                                        AbTarget{"b", "b/s/x"}));
  EXPECT_THAT(chosen->base_only, ElementsAre(AbTarget{"a", "a/s/old"}));
  EXPECT_THAT(chosen->fresh_only, ElementsAre(AbTarget{"a", "a/s/new"}));
}

TEST(SelectTargets, FiltersLikeGoogleBenchmark) {
  EXPECT_THAT(choose("s/x")->both, ElementsAre(AbTarget{"a", "a/s/x"}, AbTarget{"b", "b/s/x"}));
  EXPECT_THAT(choose("^b")->both, ElementsAre(AbTarget{"b", "b/s/x"}));
}

TEST(SelectTargets, TakesNamedTargetsOnly) {
  EXPECT_THAT(choose("", {{"a", "a/s/x"}})->both, ElementsAre(AbTarget{"a", "a/s/x"}));
  EXPECT_THAT(choose("", {{"a", "a/s/old"}})->base_only, ElementsAre(AbTarget{"a", "a/s/old"}));
}

TEST(SelectTargets, WhatNeitherSideHasSpoilsNoOther) {
  const auto chosen = choose("", {{"a", "a/s/gone"}, {"a", "a/s/x"}});
  ASSERT_TRUE(chosen.has_value());
  EXPECT_THAT(chosen->neither, ElementsAre(AbTarget{"a", "a/s/gone"}));
  EXPECT_THAT(chosen->both, ElementsAre(AbTarget{"a", "a/s/x"}));
}

TEST(SelectTargets, NamesTheNearestForWhatAFilterDoesNotFind) {
  EXPECT_EQ(choose("b/s/y").error().code, Errc::kInvalidArgument);
  EXPECT_THAT(choose("b/s/y").error().message, HasSubstr("the nearest is b/s/x"));
  EXPECT_THAT(choose("(").error().message, HasSubstr("regular expression"));
}

TEST(GroupOfFilter, IsKnownOnlyWhereNothingElseCouldMatch) {
  EXPECT_EQ(group_of_filter("^vault_crypto/seal"), "vault_crypto");
  EXPECT_EQ(group_of_filter("^a/.*"), "a");
  EXPECT_EQ(group_of_filter("a/x"), "");
  EXPECT_EQ(group_of_filter("^a/x|b"), "");
  EXPECT_EQ(group_of_filter("^a.*/x"), "");
  EXPECT_EQ(group_of_filter("^a"), "");
  EXPECT_EQ(group_of_filter(""), "");
}

}  // namespace
}  // namespace plimsoll::compare
