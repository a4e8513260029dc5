#include "lib/core/units.hpp"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using namespace std::chrono_literals;

TEST(Units, FormatDurationsWithThreeDigits) {
  EXPECT_EQ(format_duration(0ns), "0 ns");
  EXPECT_EQ(format_duration(980ns), "980 ns");
  EXPECT_EQ(format_duration(1250us), "1.25 ms");
  EXPECT_EQ(format_duration(12s), "12.0 s");
  EXPECT_EQ(format_duration(999'999ns), "1.00 ms");
}

TEST(Units, FormatBytesInBinaryUnits) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(24.0 * (1ULL << 30U)), "24.0 GiB");
}

TEST(Units, FormatCounts) {
  EXPECT_EQ(format_count(950), "950");
  EXPECT_EQ(format_count(12345), "12.3k");
  EXPECT_EQ(format_count(0.25), "0.25");
}

}  // namespace
}  // namespace plimsoll
