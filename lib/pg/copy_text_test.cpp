#include "lib/pg/copy_text.hpp"

#include <gmock/gmock.h>

namespace plimsoll::pg {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

constexpr std::int64_t kDay = 86'400'000'000;

std::string text_of(Timestamp time) {
  std::string text;
  append_timestamp(text, time);
  return text;
}

TEST(CopyText, EscapesAndUnescapesWhatStructuresALine) {
  const std::string odd = "\t\n\r\b\f\v\\ \\N \\n \0 \x80\xff"s;
  std::string escaped;
  append_escaped(escaped, odd);
  EXPECT_EQ(escaped, "\\t\\n\\r\\b\\f\\v\\\\ \\\\N \\\\n \0 \x80\xff"s);
  escaped.resize(unescape(escaped.data(), escaped.size()));
  EXPECT_EQ(escaped, odd);
}

TEST(CopyText, LeavesOtherTextAloneAndTakesABackslashOffTheRest) {
  std::string plain = "plain \xc3\xa4";
  std::string escaped;
  append_escaped(escaped, plain);
  EXPECT_EQ(escaped, plain);
  EXPECT_EQ(unescape(plain.data(), plain.size()), plain.size());
  std::string other = R"(\.a\)";
  other.resize(unescape(other.data(), other.size()));
  EXPECT_EQ(other, R"(.a\)");
}

TEST(CopyText, WritesTimestampsAsPostgresDoes) {
  struct Row {
    std::int64_t since_2000;
    std::string text;
  };
  // The texts are PostgreSQL's own (copy_pgtest.cpp asks it).
  for (const auto& [since, text] : {
           Row{0, "2000-01-01 00:00:00.000000+00"},
           Row{-1, "1999-12-31 23:59:59.999999+00"},
           Row{59 * kDay, "2000-02-29 00:00:00.000000+00"},
           Row{60 * kDay, "2000-03-01 00:00:00.000000+00"},
           Row{-36'464 * kDay, "1900-03-02 00:00:00.000000+00"},
           Row{-730'119 * kDay, "0001-01-01 00:00:00.000000+00"},
           Row{-730'120 * kDay, "0001-12-31 00:00:00.000000+00 BC"},
           Row{-211'813'488'000'000'000, "4714-11-24 00:00:00.000000+00 BC"},
           Row{9'223'371'331'199'999'999, "294276-12-31 23:59:59.999999+00"},
       }) {
    EXPECT_EQ(text_of({since}), text);
    const auto back = timestamp_of_text(text);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->since_2000, since) << text;
  }
}

TEST(CopyText, ReadsBackEveryDayOfFourHundredYears) {
  for (std::int64_t day = -74'000; day < 74'000; ++day) {
    const Timestamp time{day * kDay + 12'345};
    const auto back = timestamp_of_text(text_of(time));
    ASSERT_TRUE(back);
    ASSERT_EQ(*back, time) << text_of(time);
  }
}

TEST(CopyText, KnowsTheInfinitiesAndOtherOffsets) {
  EXPECT_EQ(text_of(Timestamp::infinity()), "infinity");
  EXPECT_EQ(text_of(Timestamp::minus_infinity()), "-infinity");
  EXPECT_EQ(timestamp_of_text("infinity"), Timestamp::infinity());
  EXPECT_EQ(timestamp_of_text("-infinity"), Timestamp::minus_infinity());
  EXPECT_EQ(timestamp_of_text("2000-01-01 01:00:00+01"), Timestamp{0});
  EXPECT_EQ(timestamp_of_text("1999-12-31 18:30:00.5-05:30"), Timestamp{500'000});
  EXPECT_EQ(timestamp_of_text("2000-01-01 00:53:28.25+00:53:28"), Timestamp{250'000});
}

TEST(CopyText, SaysWhatItExpectedInPlaceOfWhatItFound) {
  for (const char* text :
       {"", "yesterday", "2000-13-01 00:00:00+00", "2000-01-00 00:00:00+00",
        "Sat Jan 01 00:00:00 2000 UTC", "2000-01-01", "2000-01-01 00:00:00",
        "2000-01-01 00:00:00+00 AD", "1234567-01-01 00:00:00+00", "999999-01-01 00:00:00+00"}) {
    const auto time = timestamp_of_text(text);
    ASSERT_FALSE(time) << text;
    EXPECT_EQ(time.error().code, Errc::kProtocol);
    EXPECT_THAT(time.error().message, HasSubstr("DateStyle"));
  }
  for (const char* text : {"", "abc", "\\x1", "\\xzz", "x12"}) {
    EXPECT_THAT(bytes_of_hex(text).error().message, HasSubstr("bytea_output"));
  }
  for (const char* text :
       {"", "00000000-0000-0000-0000-00000000000g", "00000000x0000-0000-0000-000000000000"}) {
    EXPECT_THAT(uuid_of_text(text).error().message, HasSubstr("uuid"));
  }
}

TEST(CopyText, WritesAndReadsBytesAndUuids) {
  const std::string bytes = "\0\x01\xfe\xff"s;
  std::string hex;
  append_hex(hex, bytes);
  EXPECT_EQ(hex, "\\x0001feff");
  EXPECT_EQ(bytes_of_hex(hex), bytes);
  EXPECT_EQ(bytes_of_hex("\\xABcd"), "\xab\xcd");

  Uuid uuid{};
  for (std::size_t i = 0; i < uuid.size(); ++i) uuid[i] = static_cast<std::uint8_t>(i * 17);
  std::string text;
  append_uuid(text, uuid);
  EXPECT_EQ(text, "00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(uuid_of_text(text), uuid);
}

TEST(CopyValue, TimestampsMeetTheSystemClock) {
  using std::chrono::microseconds;
  using Time = std::chrono::sys_time<microseconds>;
  EXPECT_EQ(Timestamp::of(Time{}).since_2000, -946'684'800'000'000);
  EXPECT_EQ(Timestamp{0}.on_system_clock(), Time{std::chrono::seconds(946'684'800)});
  EXPECT_EQ(Timestamp::of(Time::max()), Timestamp::infinity());
  EXPECT_EQ(Timestamp::of(Time::min()), Timestamp::minus_infinity());
  EXPECT_EQ(Timestamp::infinity().on_system_clock(), Time::max());
  EXPECT_EQ(Timestamp::minus_infinity().on_system_clock(), Time::min());
  EXPECT_EQ(Timestamp{9'223'371'331'199'999'999}.on_system_clock(), Time::max());
}

TEST(CopyValue, StatementsQuoteTheirNames) {
  EXPECT_EQ(copy_in_sql("t", {}), R"(COPY "t" FROM STDIN (FORMAT binary))");
  EXPECT_EQ(copy_in_sql("s.Odd\"", {"a", "b c"}, CopyFormat::kText),
            R"(COPY "s"."Odd""" ("a", "b c") FROM STDIN (FORMAT text))");
  EXPECT_EQ(copy_in_sql("", {}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(copy_in_sql("t", {"a\0b"s}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(copy_in_sql("s.", {}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(copy_out_sql("SELECT 1"), "COPY (SELECT 1) TO STDOUT (FORMAT binary)");
}

}  // namespace
}  // namespace plimsoll::pg
