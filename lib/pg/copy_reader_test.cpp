#include "lib/pg/copy_reader.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "lib/pg/copy_writer.hpp"

namespace plimsoll::pg {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

constexpr std::size_t kColumns = 10;
constexpr Uuid kUuid{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255};

void write_rows(CopyWriter& writer) {
  writer.row().boolean(true).int2(-32768).int4(-2147483647 - 1);
  writer.int8(std::numeric_limits<std::int64_t>::min()).float8(-1.5e-300).text("tab\tline\n\\N");
  writer.bytea("\0\x01\xff\\"s).timestamptz({-1}).uuid(kUuid).null();
  writer.row().boolean(false).int2(32767).int4(2147483647);
  writer.int8(std::numeric_limits<std::int64_t>::max());
  writer.float8(std::numeric_limits<double>::quiet_NaN()).text("").bytea("");
  writer.timestamptz(Timestamp::infinity()).uuid({}).text("not null");
}

class CopyReaderTest : public ::testing::TestWithParam<CopyFormat> {
 protected:
  std::string encoded() const {
    CopyWriter writer(GetParam(), kColumns);
    write_rows(writer);
    writer.finish();
    return std::string(writer.buffer());
  }
};

TEST_P(CopyReaderTest, ReadsWhatTheWriterWrote) {
  CopyReader reader(GetParam(), kColumns);
  ASSERT_TRUE(reader.feed(encoded()));
  ASSERT_TRUE(reader.finish());
  const CopyRows& rows = reader.rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(reader.total(), 2U);
  EXPECT_EQ(rows.boolean(0, 0), true);
  EXPECT_EQ(rows.integer(0, 1), -32768);
  EXPECT_EQ(rows.integer(0, 2), -2147483648LL);
  EXPECT_EQ(rows.integer(0, 3), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(rows.float8(0, 4), -1.5e-300);
  EXPECT_EQ(rows.text(0, 5), "tab\tline\n\\N");
  EXPECT_EQ(rows.bytea(0, 6), "\0\x01\xff\\"s);
  EXPECT_EQ(rows.timestamptz(0, 7), Timestamp{-1});
  EXPECT_EQ(rows.uuid(0, 8), kUuid);
  EXPECT_EQ(rows.value(0, 9), std::nullopt);
  EXPECT_EQ(rows.boolean(1, 0), false);
  EXPECT_EQ(rows.integer(1, 1), 32767);
  EXPECT_EQ(rows.integer(1, 2), 2147483647);
  EXPECT_EQ(rows.integer(1, 3), std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(std::isnan(*rows.float8(1, 4)));
  EXPECT_EQ(rows.text(1, 5), "");
  EXPECT_EQ(rows.bytea(1, 6), "");
  EXPECT_EQ(rows.timestamptz(1, 7), Timestamp::infinity());
  EXPECT_EQ(rows.uuid(1, 8), Uuid{});
  EXPECT_EQ(rows.text(1, 9), "not null");
}

TEST_P(CopyReaderTest, TakesItsDataInPiecesOfAnySize) {
  const std::string all = encoded();
  for (std::size_t size = 1; size < all.size(); ++size) {
    CopyReader reader(GetParam(), kColumns);
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < all.size(); at += size) {
      ASSERT_TRUE(reader.feed(std::string_view(all).substr(at, size))) << size;
      for (std::size_t row = 0; row < reader.rows().size(); ++row) {
        texts.emplace_back(*reader.rows().text(row, 5));
        EXPECT_TRUE(reader.rows().uuid(row, 8)) << size;
      }
      reader.clear();
      EXPECT_TRUE(reader.rows().empty());
    }
    ASSERT_TRUE(reader.finish()) << size;
    EXPECT_THAT(texts, ::testing::ElementsAre("tab\tline\n\\N", "")) << size;
    EXPECT_EQ(reader.total(), 2U);
  }
}

TEST_P(CopyReaderTest, KnowsThatDataIsMissing) {
  const std::string all = encoded();
  for (std::size_t size = 1; size < all.size(); ++size) {
    CopyReader reader(GetParam(), kColumns);
    ASSERT_TRUE(reader.feed(std::string_view(all).substr(0, size)));
    const auto whole = reader.finish();
    // A text may end behind any line.
    if (GetParam() == CopyFormat::kText && all[size - 1] == '\n') continue;
    ASSERT_FALSE(whole) << size;
    EXPECT_EQ(whole.error().code, Errc::kProtocol);
  }
}

TEST_P(CopyReaderTest, RefusesRowsOfAnotherWidth) {
  CopyReader narrow(GetParam(), kColumns - 1);
  const auto fed = narrow.feed(encoded());
  ASSERT_FALSE(fed);
  EXPECT_THAT(fed.error().message, HasSubstr("row 1 of the COPY"));
  CopyReader wide(GetParam(), kColumns + 1);
  EXPECT_FALSE(wide.feed(encoded()));
}

TEST_P(CopyReaderTest, SaysWhatIsNotThereOrOfAnotherType) {
  CopyReader reader(GetParam(), kColumns);
  ASSERT_TRUE(reader.feed(encoded()));
  const CopyRows& rows = reader.rows();
  EXPECT_EQ(rows.integer(2, 0).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(rows.integer(0, kColumns).error().code, Errc::kInvalidArgument);
  EXPECT_THAT(rows.integer(0, 9).error().message, HasSubstr("NULL"));
  EXPECT_EQ(rows.integer(0, 5).error().code, Errc::kProtocol);
  EXPECT_EQ(rows.boolean(0, 5).error().code, Errc::kProtocol);
  EXPECT_EQ(rows.float8(0, 5).error().code, Errc::kProtocol);
  EXPECT_EQ(rows.timestamptz(0, 5).error().code, Errc::kProtocol);
  EXPECT_EQ(rows.uuid(0, 5).error().code, Errc::kProtocol);
}

INSTANTIATE_TEST_SUITE_P(Formats, CopyReaderTest,
                         ::testing::Values(CopyFormat::kText, CopyFormat::kBinary),
                         [](const auto& format) {
                           return format.param == CopyFormat::kText ? "Text" : "Binary";
                         });

TEST(CopyReaderBinary, RefusesWhatIsNotOfTheFormat) {
  CopyReader text_instead(CopyFormat::kBinary, 1);
  EXPECT_THAT(text_instead.feed("1\n").error().message, HasSubstr("signature"));

  CopyWriter writer(CopyFormat::kBinary, 1);
  writer.finish();
  CopyReader behind(CopyFormat::kBinary, 1);
  EXPECT_THAT(behind.feed(std::string(writer.buffer()) + "x").error().message,
              HasSubstr("behind the end"));

  CopyReader negative(CopyFormat::kBinary, 1);
  std::string bytes(writer.buffer().substr(0, 19));
  bytes += "\0\1\xff\xff\xff\xfe"s;
  EXPECT_THAT(negative.feed(bytes).error().message, HasSubstr("a field of -2 bytes"));
}

TEST(CopyReaderBinary, SkipsAnExtensionOfTheHeader) {
  CopyReader reader(CopyFormat::kBinary, 1);
  std::string bytes("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\3abc", 22);
  bytes += "\0\1\0\0\0\1x\xff\xff"s;
  ASSERT_TRUE(reader.feed(bytes));
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(reader.rows().text(0, 0), "x");
}

TEST(CopyReaderText, TellsARowWithoutColumnsFromAnEmptyField) {
  CopyReader none(CopyFormat::kText, 0);
  ASSERT_TRUE(none.feed("\n\n"));
  EXPECT_EQ(none.rows().size(), 2U);
  CopyReader one(CopyFormat::kText, 1);
  ASSERT_TRUE(one.feed("\n\n"));
  EXPECT_EQ(one.rows().text(1, 0), "");
}

TEST(CopyReader, IsFullAtAChunk) {
  CopyReader reader(CopyFormat::kText, 1);
  ASSERT_TRUE(reader.feed(std::string(kCopyChunk - 1, 'x')));
  EXPECT_FALSE(reader.is_full()) << "a row that has no end yet is none";
  ASSERT_TRUE(reader.feed("\n"));
  EXPECT_TRUE(reader.is_full());
}

}  // namespace
}  // namespace plimsoll::pg
