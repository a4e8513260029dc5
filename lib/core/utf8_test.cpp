#include "lib/core/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace plimsoll {
namespace {

using namespace std::string_literals;

TEST(Utf8Fault, IsNoneInWholeSequencesOfEachLength) {
  EXPECT_EQ(utf8_fault(""), std::nullopt);
  EXPECT_EQ(utf8_fault("plain and long enough for words of eight"), std::nullopt);
  EXPECT_EQ(utf8_fault("\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80"), std::nullopt);
  EXPECT_EQ(utf8_fault("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"), std::nullopt);
}

TEST(Utf8Fault, NamesTheByteOfANul) {
  EXPECT_EQ(utf8_fault("\0"s), 0U);
  // Each place in a word of eight, and behind it.
  for (std::size_t at = 0; at < 20; ++at) {
    std::string text(20, 'x');
    text[at] = '\0';
    EXPECT_EQ(utf8_fault(text), at);
  }
}

TEST(Utf8Fault, NamesTheByteWhereASequenceIsBroken) {
  for (const char* bad :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3x"}) {
    EXPECT_EQ(utf8_fault(bad), 0U) << bad;
    EXPECT_EQ(utf8_fault("eight or more" + std::string(bad)), 13U) << bad;
  }
}

}  // namespace
}  // namespace plimsoll
