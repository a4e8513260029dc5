#include "lib/core/canary.hpp"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Canary, AReadingIsCpuTimeEachTime) {
  EXPECT_GT(read_canary().count(), 0);
  EXPECT_GT(read_canary().count(), 0);
}

}  // namespace
}  // namespace plimsoll
