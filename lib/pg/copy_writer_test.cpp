#include "lib/pg/copy_writer.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace plimsoll::pg {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

constexpr std::string_view kHeader{"PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19};

TEST(CopyWriter, BinaryRowsAreCountsAndSizesAndBytes) {
  CopyWriter writer(CopyFormat::kBinary, 4);
  writer.row().int2(-2).text("ab").null().boolean(true);
  writer.finish();
  EXPECT_EQ(writer.buffer(), std::string(kHeader) +
                                 "\0\4"
                                 "\0\0\0\2\xff\xfe"
                                 "\0\0\0\2ab"
                                 "\xff\xff\xff\xff"
                                 "\0\0\0\1\1"
                                 "\xff\xff"s);
  EXPECT_EQ(writer.rows(), 1U);
  EXPECT_TRUE(writer.check());
}

TEST(CopyWriter, BinaryNumbersAreBigEndian) {
  CopyWriter writer(CopyFormat::kBinary, 4);
  writer.row().int4(0x01020304).int8(-1).float8(1.0).timestamptz({258});
  writer.clear();
  writer.row().int4(0x01020304).int8(-1).float8(1.0).timestamptz({258});
  EXPECT_EQ(writer.buffer(),
            "\0\4"
            "\0\0\0\4\1\2\3\4"
            "\0\0\0\x8\xff\xff\xff\xff\xff\xff\xff\xff"
            "\0\0\0\x8\x3f\xf0\0\0\0\0\0\0"
            "\0\0\0\x8\0\0\0\0\0\0\1\2"s);
}

TEST(CopyWriter, TextRowsAreLines) {
  CopyWriter writer(CopyFormat::kText, 3);
  writer.row().int8(std::numeric_limits<std::int64_t>::min()).text("a\tb\\N").null();
  writer.row().boolean(false).bytea("\0\xff"s).float8(0.1);
  writer.row().float8(std::numeric_limits<double>::infinity()).float8(-0.0).text("");
  writer.finish();
  EXPECT_EQ(writer.buffer(),
            "-9223372036854775808\ta\\tb\\\\N\t\\N\n"
            "f\t\\\\x00ff\t0.1\n"
            "Infinity\t-0\t\n");
  EXPECT_EQ(writer.rows(), 3U);
}

TEST(CopyWriter, AChunkMayEndInTheMiddleOfALine) {
  CopyWriter writer(CopyFormat::kText, 1);
  std::string all;
  for (int i = 0; i < 3; ++i) {
    writer.row().int4(i);
    all += writer.buffer();
    writer.clear();
  }
  writer.finish();
  all += writer.buffer();
  EXPECT_EQ(all, "0\n1\n2\n");
}

TEST(CopyWriter, OfNoRowsIsHeaderAndTrailer) {
  CopyWriter binary(CopyFormat::kBinary, 1);
  binary.finish();
  EXPECT_EQ(binary.buffer(), std::string(kHeader) + "\xff\xff");
  CopyWriter text(CopyFormat::kText, 1);
  text.finish();
  EXPECT_EQ(text.buffer(), "");
}

TEST(CopyWriter, PassesEncodedRowsOnBetweenOthers) {
  CopyWriter writer(CopyFormat::kText, 1);
  writer.row().int4(1);
  writer.encoded("2\n3\n", 2);
  writer.row().int4(4);
  writer.finish();
  EXPECT_EQ(writer.buffer(), "1\n2\n3\n4\n");
  EXPECT_EQ(writer.rows(), 4U);
}

TEST(CopyWriter, RefusesANulByteInTextAndSaysWhere) {
  for (const auto format : {CopyFormat::kText, CopyFormat::kBinary}) {
    CopyWriter writer(format, 2);
    writer.row().int4(1).text("fine");
    writer.row().int4(2).text("a\0b"s);
    EXPECT_TRUE(writer.is_full()) << "more would be useless";
    const auto checked = writer.check();
    EXPECT_EQ(checked.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(checked.error().message, HasSubstr("row 2, column 2"));
    EXPECT_THAT(checked.error().message, HasSubstr("position 1 of 3"));
  }
}

TEST(CopyWriter, RefusesRowsOfAnotherWidth) {
  const auto error = [](auto fill) {
    CopyWriter writer(CopyFormat::kBinary, 2);
    fill(writer);
    writer.finish();
    const auto checked = writer.check();
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(error([](CopyWriter& w) { w.row().int4(1).int4(2); }), "");
  EXPECT_THAT(error([](CopyWriter& w) { w.row().int4(1); }), HasSubstr("row 1 has 1 fields"));
  EXPECT_THAT(error([](CopyWriter& w) { w.row().int4(1).row(); }), HasSubstr("row 1 has 1 fields"));
  EXPECT_THAT(error([](CopyWriter& w) { w.row().int4(1).int4(2).null(); }),
              HasSubstr("row 1 has more fields"));
  EXPECT_THAT(error([](CopyWriter& w) { w.int4(1); }), HasSubstr("before the first row"));
}

TEST(CopyWriter, IsFullAtAChunk) {
  CopyWriter writer(CopyFormat::kText, 1);
  writer.row().text(std::string(kCopyChunk - 1, 'x'));
  EXPECT_FALSE(writer.is_full());
  writer.row();
  EXPECT_TRUE(writer.is_full());
}

}  // namespace
}  // namespace plimsoll::pg
