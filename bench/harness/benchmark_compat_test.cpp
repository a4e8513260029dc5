#include "bench/harness/benchmark_compat.hpp"

#include <gtest/gtest.h>

namespace plimsoll::bench {
namespace {

// The two shapes that the library has had. Only one of them can be installed.
struct Run17 {
  bool error_occurred = false;
  std::string error_message;
};
enum Skipped { NotSkipped = 0, SkippedWithMessage, SkippedWithError };
struct Run18 {
  Skipped skipped = NotSkipped;
  std::string skip_message;
};
struct State17 {
  [[nodiscard]] bool error_occurred() const { return true; }
};
struct State18 {
  [[nodiscard]] bool skipped() const { return true; }
};

TEST(Compat, ReadsErrorsOfBothVersions) {
  EXPECT_FALSE(compat::is_errored(Run17{}));
  EXPECT_TRUE(compat::is_errored(Run17{true, "why"}));
  EXPECT_EQ(compat::error_message(Run17{true, "why"}), "why");
  EXPECT_FALSE(compat::is_errored(Run18{}));
  EXPECT_TRUE(compat::is_errored(Run18{SkippedWithError, "why"}));
  EXPECT_EQ(compat::error_message(Run18{SkippedWithError, "why"}), "why");
  EXPECT_TRUE(compat::has_error(State17{}) && compat::has_error(State18{}));
}

TEST(Compat, ASkipIsNoMeasurementEither) {
  EXPECT_TRUE(compat::is_errored(Run18{SkippedWithMessage, "not today"}));
}

}  // namespace
}  // namespace plimsoll::bench
