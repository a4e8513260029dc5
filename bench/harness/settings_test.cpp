#include "bench/harness/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace plimsoll::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

Result<Settings> read(const std::vector<std::string>& arguments,
                      std::map<std::string, std::string> variables = {}) {
  return read_settings(arguments, environment(std::move(variables)));
}

TEST(Settings, AreShortWithSeedOneUnlessTold) {
  const auto settings = read({});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->size, Size::kShort);
  EXPECT_EQ(settings->seed, 1U);
  EXPECT_EQ(settings->operations, 0U);
}

TEST(Settings, AFlagWinsOverTheEnvironment) {
  const auto settings = read({"--plimsoll_size=full", "--benchmark_out=b"},
                             {{"PLIMSOLL_SIZE", "smoke"}, {"BENCHMARK_OUT", "a"}});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->size, Size::kFull);
  EXPECT_EQ(settings->out, "b");
}

TEST(Settings, TakeEachOfGoogleBenchmarksSpellingsOfMinTime) {
  EXPECT_EQ(read({"--benchmark_min_time=0.25"})->min_time, 0.25);
  EXPECT_EQ(read({"--benchmark_min_time=2s"})->min_time, 2.0);
  EXPECT_EQ(read({"--benchmark_min_time=0"})->min_time, 0.0);
  EXPECT_EQ(read({"--benchmark_min_time=70x"})->operations, 70U);
  for (const char* bad : {"", "s", "x", "0x", "-1", "nan", "inf", "1e9", "1ss"}) {
    EXPECT_FALSE(read({std::string("--benchmark_min_time=") + bad})) << bad;
  }
}

TEST(Settings, PassOnWhatIsGoogleBenchmarksAlone) {
  const auto settings =
      read({"--benchmark_enable_random_interleaving=true", "--benchmark_filter=a", "--v=1"});
  ASSERT_TRUE(settings);
  EXPECT_THAT(settings->passed_on,
              ElementsAre("--benchmark_enable_random_interleaving=true", "--v=1"));
}

TEST(Settings, RefuseNumbersThatAreOnlyPartlyNumbers) {
  for (const char* bad : {"--plimsoll_ops=12k", "--plimsoll_ops=", "--plimsoll_seed=1.5",
                          "--benchmark_repetitions=3 ", "--plimsoll_ops=1000000001"}) {
    const auto settings = read({bad});
    ASSERT_FALSE(settings) << bad;
    EXPECT_EQ(settings.error().code, Errc::kInvalidArgument);
  }
}

TEST(Settings, NameTheVariableThatIsWrong) {
  EXPECT_THAT(read({}, {{"BENCHMARK_MIN_TIME", "long"}}).error().message,
              HasSubstr("BENCHMARK_MIN_TIME"));
}

TEST(Gate, NeedsBothVariables) {
  EXPECT_TRUE(gate_is_closed(environment({{"PLIMSOLL_GATED", "1"}})));
  EXPECT_FALSE(gate_is_closed(environment({{"PLIMSOLL_GATED", "1"}, {"PLIMSOLL_BENCH", "1"}})));
  EXPECT_FALSE(gate_is_closed(environment({})));
}

}  // namespace
}  // namespace plimsoll::bench
