#include "compare/ab/bench_binary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "compare/ab/build_id.hpp"
#include "compare/ab/command.hpp"

namespace plimsoll::compare {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ExactFilter, FindsThisNameAndNoOtherInBothGrammars) {
  const std::vector<std::string> names{
      "g/s/c",       "g/s/c/n:1",  "xg/s/c",          "a.b", "a+b", "a*(b)[c]{d}",
      "f<int, 2>/1", "p|q^r$s\\t", "what?/threads:4", "axb"};
  for (const std::string& wanted : names) {
    for (const auto grammar : {std::regex::extended, std::regex::ECMAScript}) {
      const std::regex regex(exact_filter(wanted), grammar);
      for (const std::string& name : names) {
        EXPECT_EQ(std::regex_search(name, regex), name == wanted)
            << exact_filter(wanted) << " on " << name;
      }
    }
  }
}

TEST(Arguments, AreInTheFormThatEachBinaryTakes) {
  SampleOrder order{Dialect::kOurs, "g/s/c", 500, 4, milliseconds(40), "full", Resource::kUnknown};
  EXPECT_THAT(arguments_of(order, "/tmp/o"),
              ElementsAre("--benchmark_filter=^g/s/c$", "--benchmark_repetitions=4",
                          "--benchmark_out=/tmp/o", "--benchmark_out_format=json",
                          "--plimsoll_ops=500", "--plimsoll_size=full"));
  order.dialect = Dialect::kPlainNumber;
  EXPECT_EQ(arguments_of(order, "/tmp/o").back(), "--benchmark_min_time=0.04");
  order.dialect = Dialect::kPlainSuffix;
  EXPECT_EQ(arguments_of(order, "/tmp/o").back(), "--benchmark_min_time=0.04s");
}

class SampleFile : public ::testing::Test {
 protected:
  Result<SampleReading> read(const std::string& context, const std::string& rows,
                             const std::string& name = "b") {
    const auto path = scratch_->path() / "f.json";
    std::ofstream(path) << R"({"context": {"num_cpus": 2)" << context << R"(}, "benchmarks": [)"
                        << rows << "]}";
    return read_sample(path, name);
  }
  static std::string row(const std::string& name, double real, double cpu, int repetition = 0) {
    std::ostringstream text;
    text << R"({"name": ")" << name << R"(", "run_name": ")" << name
         << R"(", "run_type": "iteration", "repetition_index": )" << repetition
         << R"(, "threads": 1, "iterations": 9, "real_time": )" << real << R"(, "cpu_time": )"
         << cpu << R"(, "time_unit": "us"})";
    return text.str();
  }
  Result<ScratchDirectory> scratch_ = ScratchDirectory::create();
};

TEST_F(SampleFile, APlainRowGatesByTheBestCpuTime) {
  const auto reading = read("", row("b", 9, 8) + "," + row("b", 8, 6, 1) + "," + row("b", 7, 7, 2));
  ASSERT_TRUE(reading.has_value()) << reading.error().message;
  EXPECT_EQ(reading->metric, "cpu_time");
  EXPECT_DOUBLE_EQ(reading->sample.gated_ns, 6000);
  EXPECT_DOUBLE_EQ(reading->sample.real_ns, 7000);
  EXPECT_EQ(reading->dialect, Dialect::kPlainNumber);
}

TEST_F(SampleFile, ARealTimeRowGatesByTheMedianOfRealTime) {
  const auto reading = read("",
                            row("b/real_time", 9, 5) + "," + row("b/real_time", 8, 4, 1) + "," +
                                row("b/real_time", 7, 6, 2),
                            "b/real_time");
  ASSERT_TRUE(reading.has_value()) << reading.error().message;
  EXPECT_EQ(reading->metric, "real_time");
  EXPECT_DOUBLE_EQ(reading->sample.gated_ns, 8000);
}

TEST_F(SampleFile, TheLibrarysVersionDecidesHowTimeIsWritten) {
  EXPECT_EQ(read(R"(, "library_version": "v1.9.5")", row("b", 9, 5))->dialect,
            Dialect::kPlainSuffix);
  EXPECT_EQ(read(R"(, "library_version": "1.8.4")", row("b", 9, 5))->dialect,
            Dialect::kPlainSuffix);
  EXPECT_EQ(read(R"(, "library_version": "v1.7.1")", row("b", 9, 5))->dialect,
            Dialect::kPlainNumber);
}

TEST_F(SampleFile, WhatIsNoNumberIsRefusedWithItsReason) {
  const auto reason = [&](const std::string& rows, const std::string& name = "b") {
    const auto reading = read("", rows, name);
    return reading ? "accepted" : reading.error().message;
  };
  EXPECT_THAT(reason(row("b", 9, 5), "c"), HasSubstr("no row named c"));
  EXPECT_THAT(
      reason(R"({"name": "b", "run_name": "b", "run_type": "iteration", "error_occurred": true,
                        "error_message": "key lost", "real_time": 0, "cpu_time": 0, "time_unit": "ns"})"),
      HasSubstr("key lost"));
  EXPECT_THAT(reason(row("b", 0, 0)), HasSubstr("no time above 0"));
  EXPECT_THAT(reason(""), HasSubstr("no row named b"));
  const auto missing = read_sample(scratch_->path() / "none.json", "b");
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().message, HasSubstr("none.json"));
}

/// A fake of one of our binaries, told by its environment how to behave.
class FakeBinary : public ::testing::Test {
 protected:
  BenchBinary fake(std::map<std::string, std::string> environment = {}) {
    environment["FAKE_LOG"] = log().string();
    BenchBinary::Options options;
    options.environment = std::move(environment);
    options.limit = limit_;
    return {PLIMSOLL_AB_TESTDATA "/bench_fake", options, *scratch_, signals_};
  }
  std::filesystem::path log() { return scratch_->path() / "log"; }
  std::string log_text() {
    std::ostringstream text;
    text << std::ifstream(log()).rdbuf();
    return text.str();
  }
  std::string failure(const std::string& fault) {
    SampleOrder order;
    order.benchmark = "fake/one/cpu";
    order.operations = 1;
    const auto reading = fake({{"FAKE_FAULT", fault}}).run(order);
    return reading ? "accepted" : reading.error().message;
  }

  HeldSignals signals_;
  Result<ScratchDirectory> scratch_ = ScratchDirectory::create();
  milliseconds limit_{60'000};
};

TEST_F(FakeBinary, ListsItsBenchmarks) {
  EXPECT_THAT(*fake().list(), ElementsAre("fake/one/cpu", "fake/one/cpu_more", "fake/two/db/size:8",
                                          "fake/three/shown"));
}

TEST_F(FakeBinary, IsCalibratedToTheLengthOfARepetition) {
  BenchBinary binary = fake({{"FAKE_NS", "2000"}});
  const auto calibrated = binary.calibrate({"fake", "fake/two/db/size:8"});
  ASSERT_TRUE(calibrated.has_value()) << calibrated.error().message;
  EXPECT_EQ(calibrated->dialect, Dialect::kOurs);
  EXPECT_EQ(calibrated->task.resource, Resource::kDb);
  EXPECT_EQ(calibrated->task.metric, "real_time");
  EXPECT_TRUE(calibrated->gate);
  EXPECT_NEAR(static_cast<double>(calibrated->task.operations), 20'000, 600);
  EXPECT_FALSE(fake().calibrate({"fake", "fake/three/shown"})->gate);
}

TEST_F(FakeBinary, EachSampleHasAnotherEnvironmentSize) {
  BenchBinary binary = fake();
  SampleOrder order;
  order.benchmark = "fake/one/cpu";
  order.operations = 1;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(binary.run(order).has_value());
  std::istringstream lines(log_text());
  std::set<std::string> pads;
  for (std::string line; std::getline(lines, line);) pads.insert(line.substr(line.find("pad=")));
  EXPECT_EQ(pads.size(), 3U);
}

TEST_F(FakeBinary, EveryFailureIsAReasonAndNeverANumber) {
  EXPECT_EQ(failure("exit"), "exit 3: wrong: a key was lost");
  EXPECT_EQ(failure("row"), "exit 1: wrong answer");
  EXPECT_THAT(failure("silent"), HasSubstr("result.json"));
  EXPECT_EQ(failure("crash"), "SERVER_CRASHED: the server went away");
  EXPECT_THAT(failure("invariant"), HasSubstr("lost is 2, expected 0"));
  limit_ = milliseconds(500);
  EXPECT_THAT(failure("hang"), HasSubstr("time limit"));
}

TEST_F(FakeBinary, AnEarlierResultFileDoesNotPassForThisOnes) {
  SampleOrder order;
  order.benchmark = "fake/one/cpu";
  order.operations = 1;
  ASSERT_TRUE(fake().run(order).has_value());
  EXPECT_FALSE(fake({{"FAKE_FAULT", "silent"}}).run(order).has_value());
}

TEST_F(SampleFile, APlainRowThatWaitsIsReadByWallTime) {
  const auto waits = read("", row("b", 100, 20));
  ASSERT_TRUE(waits.has_value()) << waits.error().message;
  EXPECT_EQ(waits->resource, Resource::kIo);
  EXPECT_EQ(waits->metric, "real_time");
  const auto works = read("", row("b", 100, 97));
  ASSERT_TRUE(works.has_value()) << works.error().message;
  EXPECT_EQ(works->metric, "cpu_time");
  // A sample is read as its calibration was, whatever the machine does meanwhile.
  const auto sample = read_sample(scratch_->path() / "f.json", "b", Resource::kIo);
  ASSERT_TRUE(sample.has_value()) << sample.error().message;
  EXPECT_EQ(sample->metric, "real_time");
}

TEST(PlainBinary, IsListedCalibratedAndSampled) {
  const HeldSignals signals;
  const auto scratch = ScratchDirectory::create();
  BenchBinary binary(PLIMSOLL_AB_PLAIN, {}, *scratch, signals);
  const auto names = binary.list();
  ASSERT_TRUE(names.has_value()) << names.error().message;
  EXPECT_THAT(*names,
              ElementsAre("plain/waits(us)+[a-z]*/real_time", "plain/counts", "plain/fails"));
  const auto calibrated = binary.calibrate({"", names->front()});
  ASSERT_TRUE(calibrated.has_value()) << calibrated.error().message;
  EXPECT_NE(calibrated->dialect, Dialect::kOurs);
  EXPECT_EQ(calibrated->task.operations, 0U);
  EXPECT_EQ(calibrated->task.resource, Resource::kIo);
  const auto failed = binary.calibrate({"", "plain/fails"});
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error().message, HasSubstr("wrong: it failed on purpose"));
}

TEST(BuildId, IsWhatTheLinkerWrote) {
  const HeldSignals signals;
  const auto notes = output_of({"readelf", "-n", PLIMSOLL_AB_PLAIN}, {}, signals);
  ASSERT_TRUE(notes.has_value()) << notes.error().message;
  const auto id = build_id_of(PLIMSOLL_AB_PLAIN);
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(id->size(), 40U);
  EXPECT_THAT(*notes, HasSubstr("Build ID: " + *id));
  EXPECT_NE(id, build_id_of(PLIMSOLL_AB_PLAIN_SLOW));
}

TEST(BuildId, IsAbsentWhereThereIsNone) {
  const auto scratch = ScratchDirectory::create();
  EXPECT_EQ(build_id_of(scratch->path() / "none"), std::nullopt);
  EXPECT_EQ(build_id_of(PLIMSOLL_AB_TESTDATA "/bench_fake"), std::nullopt);
  // A file that ends, or lies, in the middle of its headers.
  std::ostringstream whole;
  whole << std::ifstream(PLIMSOLL_AB_PLAIN, std::ios::binary).rdbuf();
  for (const std::size_t size : {3U, 20U, 64U, 200U, 700U}) {
    const auto part = scratch->path() / "part";
    std::ofstream(part, std::ios::binary) << whole.str().substr(0, size);
    EXPECT_EQ(build_id_of(part), std::nullopt) << size;
  }
}

}  // namespace
}  // namespace plimsoll::compare
