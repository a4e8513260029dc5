#include "bench/harness/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::bench {
namespace {

using ::testing::HasSubstr;

void nothing(Case&) {}

Registry with(const std::vector<std::string>& names) {
  Registry registry;
  for (const std::string& name : names) registry.add({name, nothing, {}, Kind::kLoop});
  return registry;
}

std::vector<std::string> selected(const Registry& registry, const std::string& filter) {
  std::vector<std::string> names;
  const auto cases = registry.select(filter);
  if (cases) {
    for (const RegisteredCase* each : *cases) names.push_back(each->name);
  }
  return names;
}

TEST(CaseNames, AreGroupSubjectCaseAndThenParameters) {
  for (const char* good :
       {"g/subject/case", "g/s/c/n:1", "g/s/c/bytes:64/mode:open-skip", "g/s/c/rate:1.5"}) {
    EXPECT_EQ(name_mistake(good, "g"), std::nullopt) << good;
  }
  for (const char* bad : {"", "g", "g/s", "g/s/", "g//c", "h/s/c", "g/s/c/plain",
                          "g/s/c/n:", "g/s/c/:1", "g/s/c d", "g/s/c/", "g/s:1/c"}) {
    EXPECT_NE(name_mistake(bad, "g"), std::nullopt) << bad;
  }
}

TEST(Registry, TellsEveryMistakeAtOnce) {
  Registry registry = with({"g/s/c", "g/s/c", "g/s"});
  registry.add({"g/s/d", nullptr, {}, Kind::kLoop});
  registry.reject("a metric was wrong");
  const auto checked = registry.check("g");
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("'g/s/c' is registered twice"));
  EXPECT_THAT(checked.error().message, HasSubstr("'g/s' is not named"));
  EXPECT_THAT(checked.error().message, HasSubstr("'g/s/d' has no body"));
  EXPECT_THAT(checked.error().message, HasSubstr("a metric was wrong"));
}

TEST(Registry, SelectsByGooglesRules) {
  const Registry registry = with({"g/a/x", "g/a/xy", "g/b/x"});
  EXPECT_EQ(selected(registry, "").size(), 3U);
  EXPECT_EQ(selected(registry, "all").size(), 3U);
  EXPECT_EQ(selected(registry, "a/x"), (std::vector<std::string>{"g/a/x", "g/a/xy"}));
  EXPECT_EQ(selected(registry, "x$"), (std::vector<std::string>{"g/a/x", "g/b/x"}));
  EXPECT_EQ(selected(registry, "-/a/"), std::vector<std::string>{"g/b/x"});
}

TEST(Registry, NamesTheNearestOfWhatAFilterMissed) {
  const auto none = with({"g/seal/key", "g/open/key"}).select("opne");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("'open'"));
}

TEST(Records, OfTheRepetitionsAreTheLastExecutions) {
  Registry registry;
  // Two guesses of the iteration count, the second of which counts, and then one more repetition.
  for (const char* verdict : {"guess", "first", "second"})
    registry.new_record("g/s/c").verdict = verdict;
  ASSERT_NE(registry.record_of("g/s/c", 0, 2), nullptr);
  EXPECT_EQ(registry.record_of("g/s/c", 0, 2)->verdict, "first");
  EXPECT_EQ(registry.record_of("g/s/c", 1, 2)->verdict, "second");
  EXPECT_EQ(registry.record_of("g/s/c", 0, 4), nullptr);
  EXPECT_EQ(registry.record_of("g/s/other", 0, 1), nullptr);
  registry.forget("g/s/c");
  EXPECT_EQ(registry.record_of("g/s/c", 0, 1), nullptr);
}

}  // namespace
}  // namespace plimsoll::bench
