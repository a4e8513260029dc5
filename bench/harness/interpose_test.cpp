// Do the counters see what libraries do? Asked of the probe, since only a bench binary interposes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/harness/testing/process.hpp"

namespace plimsoll::bench::testing {
namespace {

using Json = nlohmann::json;

/// The first row of the one case, run with so many iterations.
Json row_of(const std::string& name, int iterations) {
  const Ended ended = run_probe({"--benchmark_format=json", "--benchmark_repetitions=1",
                                 "--plimsoll_ops=" + std::to_string(iterations),
                                 "--benchmark_filter=^" + name + "$"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  const Json parsed = Json::parse(ended.out, nullptr, false);
  return parsed.is_object() ? parsed["benchmarks"][0] : Json::object();
}

class Allocations : public ::testing::TestWithParam<std::pair<std::string, int>> {};

TEST_P(Allocations, AreCountedExactlyOrSaidNotToBe) {
  const auto& [name, expected] = GetParam();
  for (const int iterations : {1, 1000}) {
    const Json row = row_of(name, iterations);
    if (PLIMSOLL_SANITIZED) {
      EXPECT_FALSE(row.contains("allocations_per_op"));
      EXPECT_THAT(row.at("plimsoll").at("issues").dump(), ::testing::HasSubstr("not counted"));
    } else {
      EXPECT_EQ(row.value("allocations_per_op", -1.0), expected)
          << iterations << " iterations: " << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Allocations,
                         ::testing::Values(std::pair{"probe/ok/two_allocations", 2},
                                           std::pair{"probe/ok/openssl", 1},
                                           std::pair{"probe/ok/plugin", 3}),
                         [](const auto& tested) {
                           return tested.param.first.substr(tested.param.first.rfind('/') + 1);
                         });

TEST(ProcessAllocations, OfMoreThreadsThanSlotsAreAllCounted) {
  if (PLIMSOLL_SANITIZED) GTEST_SKIP() << "sanitizers bring their own allocator";
  EXPECT_TRUE(
      row_of("probe/ok/threads", 1).contains("iterations"));  // It fails itself over a lost count.
}

TEST(Io, OfALoadedLibraryIsCountedWithItsBytes) {
  if (PLIMSOLL_SANITIZED) GTEST_SKIP() << "sanitizers interpose these functions themselves";
  const Json row = row_of("probe/ok/socket", 100);
  EXPECT_EQ(row.at("sends_per_op"), 1);
  EXPECT_EQ(row.at("receives_per_op"), 1);
  EXPECT_EQ(row.at("bytes_sent_per_op"), 10);
  EXPECT_EQ(row.at("bytes_received_per_op"), 10);
}

}  // namespace
}  // namespace plimsoll::bench::testing
