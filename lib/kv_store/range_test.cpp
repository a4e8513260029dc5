#include "lib/kv_store/range.hpp"

#include <gtest/gtest.h>

#include "lib/core/utf8.hpp"
#include "lib/kv_store/types.hpp"

namespace plimsoll::kv {
namespace {

struct Row {
  const char* prefix;
  const char* end;
};

TEST(KvRange, EndsAtThePrefixWithItsLastCodePointRaised) {
  for (const Row& row :
       {Row{"a", "b"}, Row{"ab", "ac"}, Row{"a%", "a&"}, Row{"\x7F", "\xC2\x80"},
        Row{"\xC3\xBF", "\xC4\x80"}, Row{"\xDF\xBF", "\xE0\xA0\x80"},
        Row{"x\xED\x9F\xBF", "x\xEE\x80\x80"}, Row{"\xEF\xBF\xBF", "\xF0\x90\x80\x80"},
        Row{"a\xF4\x8F\xBF\xBF", "b"}, Row{"a\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF", "b"}}) {
    EXPECT_EQ(end_of_prefix(row.prefix), row.end) << row.prefix;
    EXPECT_EQ(utf8_fault(end_of_prefix(row.prefix)), std::nullopt);
  }
}

TEST(KvRange, EndsBehindEveryKeyWhereThereIsNothingToRaise) {
  std::string longest;
  while (longest.size() + 4 <= kMaxKeyBytes) longest += "\xF4\x8F\xBF\xBF";
  for (const char* prefix : {"", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_GT(end_of_prefix(prefix), longest);
    EXPECT_EQ(utf8_fault(end_of_prefix(prefix)), std::nullopt);
  }
}

TEST(KvRange, HoldsExactlyWhatBeginsWithThePrefix) {
  const std::string bytes[] = {"\x01",
                               "%",
                               "*",
                               "_",
                               "a",
                               "b",
                               "\x7F",
                               "\xC2\x80",
                               "\xED\x9F\xBF",
                               "\xEE\x80\x80",
                               "\xF4\x8F\xBF\xBF"};
  std::vector<std::string> all{""};
  for (std::size_t begin = 0, round = 0; round < 3; ++round) {
    for (const std::size_t end = all.size(); begin < end; ++begin) {
      for (const auto& one : bytes) all.push_back(all[begin] + one);
    }
  }
  for (const auto& prefix : all) {
    if (prefix.size() > 8) continue;
    const auto end = end_of_prefix(prefix);
    for (const auto& key : all) {
      EXPECT_EQ(key >= prefix && key < end, key.starts_with(prefix)) << prefix << " and " << key;
    }
  }
}

TEST(KvRange, JustBehindAKeyIsTheSmallestThatIsLarger) {
  EXPECT_GT(just_behind("a"), "a");
  EXPECT_LE(just_behind("a"), std::string("a\x01"));
  EXPECT_LT(just_behind("a"), std::string("a\x01\x01"));
}

}  // namespace
}  // namespace plimsoll::kv
