#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/kv_store/store_rules_test.hpp"

namespace plimsoll::kv {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TYPED_TEST_SUITE_P(StoreRules);

TYPED_TEST_P(StoreRules, AGetSeesTheLastSetAndItsVersion) {
  const auto first = this->set("acme", "k", "one");
  EXPECT_EQ(this->good(this->store_->get("acme", "k")), Entry("one", first));
  const auto second = this->set("acme", "k", "two");
  EXPECT_GT(second, first);
  EXPECT_EQ(this->good(this->store_->get("acme", "k")), Entry("two", second));
  EXPECT_EQ(this->good(this->store_->get("acme", "other")), std::nullopt);
}

TYPED_TEST_P(StoreRules, AnEmptyValueIsAValue) {
  this->set("acme", "k", "");
  const auto entry = this->good(this->store_->get("acme", "k"));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->value, "");
}

TYPED_TEST_P(StoreRules, AnEraseTellsWhetherThereWasAnEntry) {
  this->set("acme", "k", "v");
  EXPECT_TRUE(this->good(this->store_->erase("acme", "k")));
  EXPECT_FALSE(this->good(this->store_->erase("acme", "k")));
  EXPECT_EQ(this->good(this->store_->get("acme", "k")), std::nullopt);
  EXPECT_THAT(this->keys("acme", ""), IsEmpty());
}

TYPED_TEST_P(StoreRules, TenantsWithSeparatorsInTheirNamesDoNotMeet) {
  // Each pair would be one name if tenant and key were only joined by a colon, a slash or a NUL.
  const std::vector<std::pair<std::string, std::string>> places{
      {"a", "b:c"}, {"a:b", "c"}, {"1:a", "b"}, {"a", "1:b"},   {"a/b", "c"},
      {"a", "b/c"}, {"3:a", "b"}, {"3", "a:b"}, {"3:a:b", "c"}, {"\x01", "\x01"}};
  for (std::size_t i = 0; i < places.size(); ++i) {
    this->set(places[i].first, places[i].second, std::to_string(i));
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(this->value(places[i].first, places[i].second), std::to_string(i));
  }
  EXPECT_THAT(this->keys("a", ""), ElementsAre("1:b", "b/c", "b:c"));
  EXPECT_TRUE(this->good(this->store_->erase("a", "b:c")));
  EXPECT_EQ(this->value("a:b", "c"), "1");
}

TYPED_TEST_P(StoreRules, EachBadInputIsRefusedByItself) {
  using namespace std::string_literals;
  const auto refused = [&](const Error& error, const char* why) {
    EXPECT_EQ(error.code, Errc::kInvalidArgument) << error.message;
    EXPECT_THAT(error.message, HasSubstr(why));
  };
  std::vector<asio::awaitable<Result<Version>>> works;
  works.push_back(this->store_->set("acme", Write("fine", "1")));
  works.push_back(this->store_->set("", Write("k", "v")));
  works.push_back(this->store_->set("acme", Write("", "v")));
  works.push_back(this->store_->set("acme", Write("k", "a\0b"s)));
  works.push_back(this->store_->set("acme", Write("k\0"s, "v")));
  works.push_back(this->store_->set("a\0"s, Write("k", "v")));
  works.push_back(this->store_->set("acme", Write("k", "\xFF")));
  works.push_back(this->store_->set("acme", Write(std::string(kMaxKeyBytes + 1, 'k'), "v")));
  works.push_back(this->store_->set(std::string(kMaxTenantBytes + 1, 't'), Write("k", "v")));
  works.push_back(this->store_->set("acme", Write("k", std::string(kMaxValueBytes + 1, 'v'))));
  works.push_back(this->store_->set("acme", Write("k", "v", milliseconds(0))));
  works.push_back(this->store_->compare_and_set("acme", Write("k", "v"), -1));
  works.push_back(this->store_->set("acme", Write("fine too", "2")));
  const auto answers = this->run_all(std::move(works));
  EXPECT_TRUE(answers.front()) << "a neighbour of bad input";
  EXPECT_TRUE(answers.back()) << "a neighbour of bad input";
  const char* whys[] = {"tenant is empty", "key is empty", "NUL at byte 1", "NUL at byte 1",
                        "NUL at byte 1",   "not UTF-8",    "at most 1024",  "at most 128",
                        "at most 1048576", "ttl is 0 ms",  "version is -1"};
  for (std::size_t i = 0; i < std::size(whys); ++i) {
    ASSERT_FALSE(answers[i + 1]) << whys[i];
    refused(answers[i + 1].error(), whys[i]);
  }
  refused(this->bad(this->store_->get("", "k")), "tenant is empty");
  refused(this->bad(this->store_->erase("acme", "")), "key is empty");
  refused(this->bad(this->store_->list("acme", "", 0)), "limit is 0");
  refused(this->bad(this->store_->get_all("acme", {})), "number of keys is 0");
  refused(this->bad(this->store_->set_all("acme", {})), "number of writes is 0");
  EXPECT_THAT(this->keys("acme", ""), ElementsAre("fine", "fine too"));
}

TYPED_TEST_P(StoreRules, TheLongestTenantKeyAndValueFit) {
  const std::string tenant(kMaxTenantBytes, 't');
  // Random, since what compresses would not show an index row that is too long.
  std::string key;
  for (std::size_t i = 0; i < kMaxKeyBytes; ++i) key += static_cast<char>(33 + i * i * 7919 % 90);
  const std::string text(kMaxValueBytes, 'v');
  const auto version = this->good(this->store_->set(tenant, Write(key, text)));
  EXPECT_EQ(this->good(this->store_->get(tenant, key)), Entry(text, version));
  EXPECT_THAT(this->keys(tenant, key), ElementsAre(key));
}

TYPED_TEST_P(StoreRules, ACompareAndSetWritesOnlyAtTheExpectedVersion) {
  const auto first = this->good(this->store_->compare_and_set("acme", Write("k", "1"), kAbsent));
  EXPECT_EQ(this->bad(this->store_->compare_and_set("acme", Write("k", "x"), kAbsent)).code,
            Errc::kConflict);
  const auto second = this->good(this->store_->compare_and_set("acme", Write("k", "2"), first));
  EXPECT_GT(second, first);
  EXPECT_EQ(this->bad(this->store_->compare_and_set("acme", Write("k", "x"), first)).code,
            Errc::kConflict);
  EXPECT_EQ(this->bad(this->store_->compare_and_set("acme", Write("none", "x"), first)).code,
            Errc::kConflict);
  EXPECT_EQ(this->good(this->store_->get("acme", "k")), Entry("2", second));
  EXPECT_EQ(this->value("acme", "none"), "");
}

TYPED_TEST_P(StoreRules, OfManyCompareAndSetsAtOnceOneWins) {
  const auto version = this->set("acme", "k", "0");
  std::vector<asio::awaitable<Result<Version>>> works;
  for (int i = 0; i < 20; ++i) {
    works.push_back(this->store_->compare_and_set("acme", Write("k", std::to_string(i)), version));
  }
  const auto answers = this->run_all(std::move(works));
  const auto won = std::ranges::count_if(answers, [](const auto& a) { return a.has_value(); });
  EXPECT_EQ(won, 1);
  for (const auto& answer : answers) {
    if (!answer) {
      EXPECT_EQ(answer.error().code, Errc::kConflict) << answer.error().message;
    }
  }
}

TYPED_TEST_P(StoreRules, AVersionIsNotUsedAgainAfterAnEraseAndANewSet) {
  std::set<Version> seen;
  Version last = kAbsent;
  for (int i = 0; i < 5; ++i) {
    const auto version = this->set("acme", "k", "same");
    EXPECT_TRUE(seen.insert(version).second);
    EXPECT_GT(version, last);
    last = version;
    this->good(this->store_->erase("acme", "k"));
  }
  // Who read the entry before the erase must not overwrite the new one, equal as it looks.
  this->set("acme", "k", "same");
  EXPECT_EQ(this->bad(this->store_->compare_and_set("acme", Write("k", "x"), last)).code,
            Errc::kConflict);
}

TYPED_TEST_P(StoreRules, SetsThatShareACommitHaveVersionsOfTheirOwnInTheirOrder) {
  std::vector<asio::awaitable<Result<Version>>> works;
  for (int i = 0; i < 50; ++i) {
    works.push_back(this->store_->set("acme", Write("hot", std::to_string(i))));
  }
  const auto answers = this->run_all(std::move(works));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i]) << answers[i].error().message;
    if (i > 0) {
      EXPECT_GT(*answers[i], *answers[i - 1]);
    }
  }
  EXPECT_EQ(this->good(this->store_->get("acme", "hot")), Entry("49", *answers.back()));
}

TYPED_TEST_P(StoreRules, AnEntryWhoseTtlIsOverIsAbsentForEveryCall) {
  const auto version = this->good(this->store_->set("acme", Write("k", "v", milliseconds(30))));
  this->set("acme", "stays", "v");
  this->wait_until_gone("acme", "k");
  EXPECT_THAT(this->good(this->store_->get_all("acme", {"k", "stays"})),
              ElementsAre(std::nullopt, ::testing::Ne(std::nullopt)));
  EXPECT_THAT(this->keys("acme", ""), ElementsAre("stays"));
  EXPECT_EQ(this->bad(this->store_->compare_and_set("acme", Write("k", "x"), version)).code,
            Errc::kConflict);
  EXPECT_FALSE(this->good(this->store_->erase("acme", "k")));
  this->good(this->store_->set("acme", Write("k", "v", milliseconds(1))));
  this->wait_until_gone("acme", "k");
  const auto created = this->good(this->store_->compare_and_set("acme", Write("k", "n"), kAbsent));
  EXPECT_GT(created, version);
  EXPECT_EQ(this->value("acme", "k"), "n");
}

TYPED_TEST_P(StoreRules, ASetWithoutATtlEndsTheOneBefore) {
  this->good(this->store_->set("acme", Write("k", "short", milliseconds(60))));
  this->set("acme", "k", "stays");
  this->good(this->store_->set("acme", Write("beside", "short", milliseconds(60))));
  this->wait_until_gone("acme", "beside");
  EXPECT_EQ(this->value("acme", "k"), "stays");
  EXPECT_THAT(this->keys("acme", ""), ElementsAre("k"));
}

TYPED_TEST_P(StoreRules, ASweepRemovesWhatIsOverAndNothingElse) {
  std::vector<Write> writes;
  for (int i = 0; i < 10; ++i) writes.emplace_back("k" + std::to_string(i), "v", milliseconds(20));
  this->good(this->store_->set_all("acme", writes));
  this->good(this->store_->set("acme", Write("later", "v", milliseconds(600'000))));
  this->set("acme", "stays", "v");
  this->set("acme", "k3", "again");
  for (int i = 0; i < 10; ++i) {
    if (i != 3) this->wait_until_gone("acme", "k" + std::to_string(i));
  }
  std::size_t gone = 0;
  for (std::size_t found = 1, rounds = 0; found > 0 && rounds < 20; ++rounds) {
    found = this->good(this->store_->sweep(4));
    EXPECT_LE(found, 4U);
    gone += found;
  }
  EXPECT_EQ(gone, 9U);
  EXPECT_THAT(this->keys("acme", ""), ElementsAre("k3", "later", "stays"));
}

TYPED_TEST_P(StoreRules, AListIsInTheOrderOfBytesAndKnowsNoPattern) {
  const std::vector<std::string> all{"%",   "A",   "B",     "[x",       "_",
                                     "a",   "a%b", "a*c",   "a?d",      "a\\e",
                                     "a_c", "ab",  "aB",    "\xC3\xA4", "\xF4\x8F\xBF\xBF",
                                     "b",   "z",   "a\x01", "ab\x7F"};
  for (const auto& key : all) this->set("acme", key, "v");
  std::set<std::string> sorted(all.begin(), all.end());
  EXPECT_THAT(this->keys("acme", ""), ::testing::ElementsAreArray(sorted));
  EXPECT_THAT(this->keys("acme", "%"), ElementsAre("%"));
  EXPECT_THAT(this->keys("acme", "a_"), ElementsAre("a_c"));
  EXPECT_THAT(this->keys("acme", "a*"), ElementsAre("a*c"));
  EXPECT_THAT(this->keys("acme", "["), ElementsAre("[x"));
  EXPECT_THAT(this->keys("acme", "a\\"), ElementsAre("a\\e"));
  EXPECT_THAT(this->keys("acme", "ab"), ElementsAre("ab", "ab\x7F"));
  EXPECT_THAT(this->keys("acme", "\xF4\x8F\xBF\xBF"), ElementsAre("\xF4\x8F\xBF\xBF"));
  EXPECT_THAT(this->keys("acme", "zz"), IsEmpty());
  EXPECT_THAT(this->keys("nobody", ""), IsEmpty());
}

TYPED_TEST_P(StoreRules, AListInPagesOfAnySizeHasEachKeyOnce) {
  std::vector<Write> writes;
  for (int i = 0; i < 57; ++i) {
    writes.emplace_back("p:" + std::to_string(100 + i), std::to_string(i));
  }
  this->good(this->store_->set_all("acme", writes));
  this->set("acme", "o", "before");
  this->set("acme", "p;", "behind");
  this->set("acmf", "p:100", "another's");
  for (const std::size_t limit : {1U, 7U, 19U, 57U, 58U, 1000U}) {
    const auto found = this->keys("acme", "p:", limit);
    ASSERT_EQ(found.size(), 57U) << limit;
    EXPECT_TRUE(std::ranges::is_sorted(found));
  }
}

TYPED_TEST_P(StoreRules, AListGoesOnWhereItWasAlsoWhenItsLastKeyIsGone) {
  for (const char* key : {"a", "b", "c", "d"}) this->set("acme", key, "v");
  const auto page = this->good(this->store_->list("acme", "", 2));
  this->good(this->store_->erase("acme", "b"));
  this->set("acme", "aa", "behind the cursor");
  this->set("acme", "bb", "before it");
  const auto rest = this->good(this->store_->list("acme", "", 10, page.cursor));
  std::vector<std::string> keys;
  for (const auto& entry : rest.entries) keys.push_back(entry.key);
  EXPECT_THAT(keys, ElementsAre("bb", "c", "d"));
}

TYPED_TEST_P(StoreRules, ACursorOfAnotherTenantOrPrefixIsRefused) {
  for (const char* tenant : {"acme", "evil"}) {
    for (const char* key : {"p1", "p2", "p3"}) this->set(tenant, key, tenant);
  }
  const auto page = this->good(this->store_->list("acme", "p", 1));
  ASSERT_FALSE(page.cursor.empty());
  EXPECT_EQ(this->bad(this->store_->list("evil", "p", 1, page.cursor)).code, Errc::kRefused);
  EXPECT_EQ(this->bad(this->store_->list("acme", "", 1, page.cursor)).code, Errc::kRefused);
  EXPECT_EQ(this->bad(this->store_->list("acme", "p", 1, "nonsense")).code, Errc::kInvalidArgument);
  EXPECT_EQ(this->good(this->store_->list("acme", "p", 5, page.cursor)).entries.size(), 2U);
}

TYPED_TEST_P(StoreRules, ABatchAnswersInTheOrderOfItsKeysAndTwiceWhereAKeyStandsTwice) {
  const auto a = this->set("acme", "a", "1");
  const auto b = this->set("acme", "b", "2");
  this->set("evil", "c", "another's");
  const auto found = this->good(this->store_->get_all("acme", {"b", "none", "a", "b", "c"}));
  EXPECT_THAT(found,
              ElementsAre(Entry("2", b), std::nullopt, Entry("1", a), Entry("2", b), std::nullopt));
}

TYPED_TEST_P(StoreRules, OfAKeyThatStandsTwiceInABatchTheLastIsStoredAndEachHasItsVersion) {
  std::vector<Write> writes;
  writes.emplace_back("k", "first", milliseconds(1));
  writes.emplace_back("other", "v");
  writes.emplace_back("k", "second");
  writes.emplace_back("k", "third");
  const auto versions = this->good(this->store_->set_all("acme", writes));
  ASSERT_EQ(versions.size(), 4U);
  EXPECT_LT(versions[0], versions[2]);
  EXPECT_LT(versions[2], versions[3]);
  EXPECT_EQ(std::set<Version>(versions.begin(), versions.end()).size(), 4U);
  EXPECT_EQ(this->good(this->store_->get("acme", "k")), Entry("third", versions[3]));
  EXPECT_EQ(this->good(this->store_->get("acme", "other")), Entry("v", versions[1]));
}

TYPED_TEST_P(StoreRules, ALargeBatchOfOneKeyHasAsManyVersions) {
  std::vector<Write> writes(kMaxBatch, Write("k", "v"));
  const auto before = this->set("acme", "k", "v");
  const auto versions = this->good(this->store_->set_all("acme", writes));
  EXPECT_GT(versions.front(), before);
  for (std::size_t i = 1; i < versions.size(); ++i) EXPECT_GT(versions[i], versions[i - 1]);
  const auto behind = this->set("acme", "j", "v");
  EXPECT_EQ(std::ranges::count(versions, behind), 0);
}

TYPED_TEST_P(StoreRules, BatchesInOppositeOrdersAllSucceed) {
  std::vector<Write> up;
  for (int i = 0; i < 50; ++i) up.emplace_back("k" + std::to_string(i), "v");
  std::vector<Write> down(up.rbegin(), up.rend());
  std::vector<asio::awaitable<Result<std::vector<Version>>>> works;
  for (int i = 0; i < 20; ++i) works.push_back(this->store_->set_all("acme", i % 2 ? up : down));
  for (const auto& answer : this->run_all(std::move(works))) {
    EXPECT_TRUE(answer) << answer.error().message;
  }
}

REGISTER_TYPED_TEST_SUITE_P(
    StoreRules, AGetSeesTheLastSetAndItsVersion, AnEmptyValueIsAValue,
    AnEraseTellsWhetherThereWasAnEntry, TenantsWithSeparatorsInTheirNamesDoNotMeet,
    EachBadInputIsRefusedByItself, TheLongestTenantKeyAndValueFit,
    ACompareAndSetWritesOnlyAtTheExpectedVersion, OfManyCompareAndSetsAtOnceOneWins,
    AVersionIsNotUsedAgainAfterAnEraseAndANewSet,
    SetsThatShareACommitHaveVersionsOfTheirOwnInTheirOrder,
    AnEntryWhoseTtlIsOverIsAbsentForEveryCall, ASetWithoutATtlEndsTheOneBefore,
    ASweepRemovesWhatIsOverAndNothingElse, AListIsInTheOrderOfBytesAndKnowsNoPattern,
    AListInPagesOfAnySizeHasEachKeyOnce, AListGoesOnWhereItWasAlsoWhenItsLastKeyIsGone,
    ACursorOfAnotherTenantOrPrefixIsRefused,
    ABatchAnswersInTheOrderOfItsKeysAndTwiceWhereAKeyStandsTwice,
    OfAKeyThatStandsTwiceInABatchTheLastIsStoredAndEachHasItsVersion,
    ALargeBatchOfOneKeyHasAsManyVersions, BatchesInOppositeOrdersAllSucceed);

}  // namespace plimsoll::kv
