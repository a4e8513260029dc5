#include <limits>

#include "lib/pg/copy_pgtest.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

constexpr Uuid kUuid{0, 17, 34, 51, 68, 85, 102, 119, 136, 153, 170, 187, 204, 221, 238, 255};

class CopyTypes : public CopyTest, public ::testing::WithParamInterface<CopyFormat> {
 protected:
  void SetUp() override {
    CopyTest::SetUp();
    if (HasFatalFailure()) return;
    plain().text(
        "CREATE TABLE types (row serial, b bool, i2 int2, i4 int4, i8 int8, f float8, s text, "
        "y bytea, z timestamptz, u uuid)");
  }
  /// Writes rows of the nine columns, by this fill.
  Result<std::uint64_t> write(std::function<void(CopyWriter&)> fill) {
    const auto sql =
        copy_in_sql("types", {"b", "i2", "i4", "i8", "f", "s", "y", "z", "u"}, GetParam());
    return run(copier_->copy_in(*sql, source_of([&fill](CopyWriter& writer) -> Result<bool> {
      fill(writer);
      return false;
    })));
  }
  /// Reads all rows back; `see` gets them.
  Result<std::uint64_t> read(std::function<void(const CopyRows&)> see) {
    return run(copier_->copy_out(
        copy_out_sql("SELECT b, i2, i4, i8, f, s, y, z, u FROM types ORDER BY row", GetParam()),
        sink_of([&see](const CopyRows& rows) -> Result<void> {
          see(rows);
          return {};
        })));
  }
};

using Int8 = std::numeric_limits<std::int64_t>;
using Double = std::numeric_limits<double>;

/// The least and the greatest of each type, what is no number, what would need escapes, and NULLs.
void add_extremes(CopyWriter& w) {
  w.row().boolean(true).int2(-32768).int4(std::numeric_limits<std::int32_t>::min());
  w.int8(Int8::min())
      .float8(Double::denorm_min())
      .text("")
      .bytea("")
      .timestamptz({-211'813'488'000'000'000});
  w.uuid({});
  w.row().boolean(false).int2(32767).int4(std::numeric_limits<std::int32_t>::max());
  w.int8(Int8::max()).float8(Double::max()).text("\t\n\r\\N\\.\b \"'\xc3\xa4").bytea("\0\xff\\"s);
  w.timestamptz({9'223'371'331'199'999'999}).uuid(kUuid);
  w.row()
      .boolean(true)
      .int2(0)
      .int4(0)
      .int8(0)
      .float8(-Double::infinity())
      .text("\\.")
      .bytea("\0"s);
  w.timestamptz(Timestamp::infinity()).uuid(kUuid);
  w.row().boolean(true).int2(0).int4(0).int8(0).float8(Double::quiet_NaN()).text("NULL");
  w.bytea("\\x").timestamptz(Timestamp::minus_infinity()).uuid(kUuid);
  w.row();
  for (int i = 0; i < 9; ++i) w.null();
}

TEST_P(CopyTypes, KeepExtremeValuesInTheServersWords) {
  const auto written = write(add_extremes);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, 5U);
  // PostgreSQL's own words for what it got.
  EXPECT_EQ(plain().text("SELECT string_agg(concat_ws('|', b, i2, i4, i8, f, u), ' ' ORDER BY row) "
                         "FROM types WHERE row IN (1, 2)"),
            "t|-32768|-2147483648|-9223372036854775808|5e-324|00000000-0000-0000-0000-000000000000 "
            "f|32767|2147483647|9223372036854775807|1.7976931348623157e+308|"
            "00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(plain().text("SELECT string_agg(y::text, ' ' ORDER BY row) FROM types"),
            "\\x \\x00ff5c \\x00 \\x5c78");
  EXPECT_EQ(plain().text("SET TimeZone = 'UTC'; SELECT string_agg(z::text, ', ' ORDER BY row) FROM "
                         "types"),
            "4714-11-24 00:00:00+00 BC, 294276-12-31 23:59:59.999999+00, infinity, -infinity");
  EXPECT_EQ(
      plain().text("SELECT string_agg(f::text, ' ' ORDER BY row) FROM types WHERE row IN (3, 4)"),
      "-Infinity NaN");
  EXPECT_EQ(plain().text("SELECT s FROM types WHERE row = 2"), "\t\n\r\\N\\.\b \"'\xc3\xa4");
  EXPECT_EQ(plain().text("SELECT count(*) FROM types WHERE row = 5 AND types.b IS NULL AND i2 IS "
                         "NULL AND i4 IS NULL AND i8 IS NULL AND f IS NULL AND s IS NULL AND y IS "
                         "NULL AND z IS NULL AND u IS NULL"),
            "1");
}

TEST_P(CopyTypes, KeepExtremeValuesBothWays) {
  ASSERT_TRUE(write(add_extremes));
  const auto copied = read([](const CopyRows& rows) {
    ASSERT_EQ(rows.size(), 5U);
    EXPECT_EQ(rows.boolean(0, 0), true);
    EXPECT_EQ(rows.integer(0, 1), -32768);
    EXPECT_EQ(rows.integer(0, 2), std::numeric_limits<std::int32_t>::min());
    EXPECT_EQ(rows.integer(0, 3), Int8::min());
    EXPECT_EQ(rows.float8(0, 4), Double::denorm_min());
    EXPECT_EQ(rows.text(0, 5), "");
    EXPECT_EQ(rows.bytea(0, 6), "");
    EXPECT_EQ(rows.timestamptz(0, 7), Timestamp{-211'813'488'000'000'000});
    EXPECT_EQ(rows.uuid(0, 8), Uuid{});
    EXPECT_EQ(rows.boolean(1, 0), false);
    EXPECT_EQ(rows.integer(1, 3), Int8::max());
    EXPECT_EQ(rows.float8(1, 4), Double::max());
    EXPECT_EQ(rows.text(1, 5), "\t\n\r\\N\\.\b \"'\xc3\xa4");
    EXPECT_EQ(rows.bytea(1, 6), "\0\xff\\"s);
    EXPECT_EQ(rows.timestamptz(1, 7), Timestamp{9'223'371'331'199'999'999});
    EXPECT_EQ(rows.uuid(1, 8), kUuid);
    EXPECT_EQ(rows.float8(2, 4), -Double::infinity());
    EXPECT_EQ(rows.text(2, 5), "\\.");
    EXPECT_EQ(rows.timestamptz(2, 7), Timestamp::infinity());
    EXPECT_NE(*rows.float8(3, 4), *rows.float8(3, 4)) << "NaN";
    EXPECT_EQ(rows.timestamptz(3, 7), Timestamp::minus_infinity());
    for (std::size_t column = 0; column < 9; ++column) {
      EXPECT_EQ(rows.value(4, column), std::nullopt);
    }
  });
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(*copied, 5U);
}

TEST_P(CopyTypes, KeepAFieldOfTenMegabytesBothWays) {
  std::string large(10'000'000, 'x');
  for (std::size_t i = 0; i < large.size(); i += 977) large[i] = static_cast<char>('a' + i % 26);
  const auto written = write([&](CopyWriter& w) {
    w.row().boolean(true).int2(1).int4(1).int8(1).float8(1).text(large).bytea(large);
    w.timestamptz({0}).uuid(kUuid);
  });
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(plain().text("SELECT octet_length(s) || ' ' || (s::bytea = y) FROM types"),
            "10000000 true");
  bool is_same = false;
  const auto copied = read([&](const CopyRows& rows) {
    is_same = rows.text(0, 5) == large && rows.bytea(0, 6) == large;
  });
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_TRUE(is_same);
}

INSTANTIATE_TEST_SUITE_P(Formats, CopyTypes,
                         ::testing::Values(CopyFormat::kText, CopyFormat::kBinary),
                         [](const auto& format) {
                           return format.param == CopyFormat::kText ? "Text" : "Binary";
                         });

TEST_F(CopyTest, ManyRowsGoInAndComeOutInOrderByPieces) {
  for (const auto format : {CopyFormat::kText, CopyFormat::kBinary}) {
    plain().text("TRUNCATE t");
    const auto written = run(copier_->copy_in(in(format), numbers(100'000)));
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(*written, 100'000U);
    EXPECT_EQ(plain().text("SELECT count(*) || ' ' || sum(n) FROM t"), "100000 5000050000");
    std::int64_t expected = 1;
    std::size_t largest = 0;
    std::size_t pieces = 0;
    const auto read = run(copier_->copy_out(copy_out_sql("SELECT n FROM t ORDER BY n", format),
                                            sink_of([&](const CopyRows& rows) -> Result<void> {
                                              for (std::size_t row = 0; row < rows.size(); ++row) {
                                                if (*rows.integer(row, 0) != expected++)
                                                  return fail(Errc::kInternal, "out of order");
                                              }
                                              largest = std::max(largest, rows.size());
                                              ++pieces;
                                              return {};
                                            })));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, 100'000U);
    EXPECT_EQ(expected, 100'001);
    EXPECT_GT(pieces, 5U);
    EXPECT_LT(largest, 40'000U) << "pieces of some 64 KiB, not all at once";
  }
}

TEST_F(CopyTest, OfNothingIsNoRows) {
  EXPECT_EQ(run(copier_->copy_in(in(), numbers(0))), 0U);
  EXPECT_EQ(run(copier_->copy_in(in(CopyFormat::kText), numbers(0))), 0U);
  EXPECT_EQ(run(copier_->copy_out(copy_out_sql("SELECT n FROM t"), nowhere())), 0U);
  expect_usable();
}

TEST_F(CopyTest, EncodedRowsArePassedOn) {
  const auto copied = run(copier_->copy_in("COPY t FROM STDIN (FORMAT csv)",
                                           source_of([](CopyWriter& writer) -> Result<bool> {
                                             writer.encoded("1\n\"2\"\n", 2);
                                             return false;
                                           })));
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(plain().text("SELECT sum(n) FROM t"), "3");
}

TEST_F(CopyTest, RowsThatATriggerLeavesOutAreMissed) {
  plain().text(
      "CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END "
      "$$;"
      "CREATE TRIGGER leave_out BEFORE INSERT ON t FOR EACH ROW WHEN (new.n = 2) "
      "EXECUTE FUNCTION leave_out()");
  const auto copied = run(copier_->copy_in(in(), numbers(3)));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::kCorrupt);
  EXPECT_THAT(copied.error().message, HasSubstr("3 rows were sent"));
  EXPECT_THAT(copied.error().message, HasSubstr("COPY 2"));
  EXPECT_TRUE(copier_->is_open());
}

asio::awaitable<void> pause(std::chrono::milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  [[maybe_unused]] const auto waited = co_await timer.async_wait(kAsValue);
}

TEST_F(CopyTest, ASlowSinkIsWaitedForAndAllArrives) {
  std::int64_t sum = 0;
  int pieces = 0;
  const CopySink slow = [&](const CopyRows& rows) -> asio::awaitable<Result<void>> {
    if (++pieces < 20) co_await pause(std::chrono::milliseconds(10));
    for (std::size_t row = 0; row < rows.size(); ++row) sum += *rows.integer(row, 0);
    co_return Result<void>{};
  };
  const auto copied =
      run(copier_->copy_out(copy_out_sql("SELECT n FROM generate_series(1, 500000) n"), slow));
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(sum, 125'000'250'000);
}

TEST_F(CopyTest, ASlowSourceIsWaitedFor) {
  int turn = 0;
  const CopySource slow = [&](CopyWriter& writer) -> asio::awaitable<Result<bool>> {
    co_await pause(std::chrono::milliseconds(10));
    writer.row().int4(++turn);
    co_return turn < 5;
  };
  EXPECT_EQ(run(copier_->copy_in(in(), slow)), 5U);
  EXPECT_EQ(plain().text("SELECT sum(n) FROM t"), "15");
}

TEST_F(CopyTest, TwoCopiersWorkSideBySideOnOneLoop) {
  auto other = run(Copier::connect(config()));
  ASSERT_TRUE(other) << other.error().message;
  std::vector<asio::awaitable<Result<std::uint64_t>>> works;
  works.push_back(copier_->copy_in(in(), numbers(50'000)));
  works.push_back((*other)->copy_in(in(CopyFormat::kText), numbers(50'000)));
  for (const auto& copied : run_all(std::move(works))) EXPECT_EQ(copied, 50'000U);
  EXPECT_EQ(stored(), "100000");
}

TEST_F(CopyTest, OneAtATimeIsBusy) {
  std::vector<asio::awaitable<Result<std::uint64_t>>> works;
  works.push_back(copier_->copy_in(in(), numbers(1000)));
  works.push_back(copier_->copy_in(in(), numbers(1000)));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0], 1000U);
  EXPECT_EQ(results[1].error().code, Errc::kBusy);
  expect_usable();
}

}  // namespace
}  // namespace plimsoll::pg
