#include "compare/ab/engine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>

#include "lib/core/rng.hpp"

namespace plimsoll::compare {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// A machine of paper: a sample takes 200 ms, a canary 10, and what they read is drawn from a seed.
class PaperLab final : public Lab {
 public:
  explicit PaperLab(std::uint64_t seed) : rng_(seed) {}

  Result<AbSample> sample(const AbTask& task, AbSideName side) override {
    now_ += milliseconds(200);
    order += side == AbSideName::kBase ? 'A' : 'B';
    ++samples;
    if (cancel_after == samples) return fail(Errc::kCancelled, "interrupted");
    if (side == fails_on && task.target.benchmark == failing) {
      return fail(Errc::kInternal, "exit 3: wrong: a key was lost");
    }
    const double effect = side == AbSideName::kFresh ? slowdown[task.target.benchmark] : 0;
    const double ns = 1000 * (1 + effect) * std::exp(normal() * spread) * slow_now();
    return AbSample{ns, ns * 1.01};
  }

  nanoseconds canary() override {
    now_ += milliseconds(10);
    return nanoseconds(std::llround(1e7 * std::exp(normal() * 0.02) * slow_now()));
  }

  TimePoint now() override { return now_; }

  /// Whether a neighbour slows the machine at this moment.
  std::function<bool(milliseconds since_start)> episode = [](milliseconds) { return false; };
  std::map<std::string, double> slowdown;
  double spread = 0.02;
  std::string failing;
  AbSideName fails_on = AbSideName::kFresh;
  int cancel_after = 0;

  std::string order;
  int samples = 0;

 private:
  double slow_now() const {
    return episode(std::chrono::duration_cast<milliseconds>(now_.time_since_epoch())) ? 1.6 : 1.0;
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - rng_.uniform()));
    return radius * std::cos(2 * std::numbers::pi * rng_.uniform());
  }

  Rng rng_;
  TimePoint now_{};
};

AbTask task_of(std::string name, Resource resource = Resource::kCpu) {
  return {{"g", std::move(name)},
          resource,
          resource == Resource::kCpu ? "cpu_time" : "real_time",
          0.05,
          100};
}

std::vector<AbResult> measured(PaperLab& lab, const std::vector<AbTask>& tasks,
                               std::uint64_t seed = 1) {
  MeasureOptions options;
  options.seed = seed;
  auto results = measure(lab, tasks, options);
  EXPECT_TRUE(results.has_value());
  return results ? *results : std::vector<AbResult>{};
}

TEST(Engine, RunsBlocksOfBothOrdersAndTheSameOnesForTheSameSeed) {
  PaperLab lab(1);
  measured(lab, {task_of("g/s/c")}, 5);
  ASSERT_EQ(lab.order.size() % 4, 0U);
  std::map<std::string, int> blocks;
  for (std::size_t i = 0; i < lab.order.size(); i += 4) ++blocks[lab.order.substr(i, 4)];
  EXPECT_EQ(blocks.size(), 2U);
  EXPECT_TRUE(blocks.contains("ABBA") && blocks.contains("BAAB"));
  PaperLab again(1);
  measured(again, {task_of("g/s/c")}, 5);
  EXPECT_EQ(again.order, lab.order);
}

TEST(Engine, ConfirmsAClearCpuRegressionAtTheFirstLook) {
  PaperLab lab(2);
  lab.slowdown["g/s/c"] = 0.2;
  const auto results = measured(lab, {task_of("g/s/c")});
  EXPECT_EQ(results[0].verdict, AbVerdict::kRegressed);
  EXPECT_EQ(results[0].looks, 1U);
  EXPECT_EQ(results[0].pairs.size(), 12U);
  EXPECT_NEAR(results[0].ratio.value, 1.2, 0.03);
  EXPECT_NEAR(results[0].real_ratio, 1.2, 0.03);
  EXPECT_LE(results[0].ratio.low, results[0].ratio.value);
  EXPECT_GE(results[0].ratio.high, results[0].ratio.value);
}

TEST(Engine, ADatabaseCaseIsConfirmedByTwentyFourPairsOnly) {
  PaperLab lab(3);
  lab.slowdown["g/s/c"] = 0.2;
  const auto results = measured(lab, {task_of("g/s/c", Resource::kDb)});
  EXPECT_EQ(results[0].verdict, AbVerdict::kRegressed);
  EXPECT_EQ(results[0].pairs.size(), 24U);
}

TEST(Engine, PairsHoldNeighboursOfTheRightSides) {
  PaperLab lab(4);
  lab.spread = 0;
  lab.slowdown["g/s/c"] = 0.5;
  const auto results = measured(lab, {task_of("g/s/c")});
  for (const AbPair& pair : results[0].pairs) {
    EXPECT_DOUBLE_EQ(pair.base, 1000);
    EXPECT_DOUBLE_EQ(pair.fresh, 1500);
  }
}

TEST(Engine, UnchangedCodeIsTheSameInEveryOneOfAHundredRuns) {
  int confirmed = 0;
  int same = 0;
  for (std::uint64_t run = 0; run < 100; ++run) {
    PaperLab lab(100 + run);
    lab.spread = 0.04;
    for (const AbResult& result :
         measured(lab, {task_of("g/s/c"), task_of("g/s/d", Resource::kDb)}, run)) {
      confirmed +=
          result.verdict == AbVerdict::kRegressed || result.verdict == AbVerdict::kImproved ? 1 : 0;
      same += result.verdict == AbVerdict::kSame ? 1 : 0;
    }
  }
  EXPECT_EQ(confirmed, 0);
  EXPECT_GE(same, 195);
}

/// So many cpu cases of one group, the first `slower` of which have become slower by `effect`.
std::vector<AbTask> group_of(PaperLab& lab, std::size_t cases, std::size_t slower, double effect) {
  std::vector<AbTask> tasks;
  for (std::size_t i = 0; i < cases; ++i) {
    tasks.push_back(task_of("g/s/" + std::to_string(i)));
    if (i < slower) lab.slowdown[tasks.back().target.benchmark] = effect;
  }
  return tasks;
}

const AbResult* whole_in(const std::vector<AbResult>& results) {
  for (const AbResult& result : results) {
    if (result.target.benchmark == "g/*") return &result;
  }
  return nullptr;
}

TEST(Engine, AGroupThatIsSlowerAsAWholeIsFoundWhereNoCaseCanShowIt) {
  PaperLab lab(20);
  lab.spread = 0.15;
  const auto results = measured(lab, group_of(lab, 20, 20, 0.10));
  const AbResult* whole = whole_in(results);
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(whole->verdict, AbVerdict::kRegressed);
  EXPECT_EQ(whole->cases, 20U);
  EXPECT_NEAR(whole->ratio.value, 1.10, 0.03);
  EXPECT_EQ(results[0].verdict, AbVerdict::kUndecided);
  EXPECT_EQ(results[0].pairs.size(), 12U) << "spared the pairs up to the last look";
  EXPECT_EQ(results.size(), 21U);
}

TEST(Engine, OneSlowCaseIsNotItsGroup) {
  PaperLab lab(21);
  const auto results = measured(lab, group_of(lab, 12, 1, 0.3));
  EXPECT_EQ(results[0].verdict, AbVerdict::kRegressed);
  EXPECT_EQ(results[1].verdict, AbVerdict::kSame);
  EXPECT_EQ(whole_in(results), nullptr);
}

TEST(Engine, TwoCasesAreNoGroup) {
  PaperLab lab(22);
  EXPECT_EQ(whole_in(measured(lab, group_of(lab, 2, 2, 0.3))), nullptr);
}

TEST(Engine, AGroupThatIsFasterAsAWholeIsMeasuredToTheEnd) {
  PaperLab lab(23);
  lab.spread = 0.15;
  const auto results = measured(lab, group_of(lab, 20, 20, 1 / 1.10 - 1));
  const AbResult* whole = whole_in(results);
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(whole->verdict, AbVerdict::kImproved);
  EXPECT_EQ(results[0].pairs.size(), 24U);
}

TEST(Engine, AnUnchangedGroupIsFalselyConfirmedAtMostOnceInAHundred) {
  int families = 0;
  for (std::uint64_t run = 0; run < 300; ++run) {
    PaperLab lab(3000 + run);
    lab.spread = 0.10;
    auto tasks = group_of(lab, 6, 0, 0);
    for (AbTask& task : tasks) task.min_effect = 1e-9;  // Leaves all the work to p.
    bool confirmed = false;
    for (const AbResult& result : measured(lab, tasks, run)) {
      confirmed = confirmed || result.verdict == AbVerdict::kRegressed ||
                  result.verdict == AbVerdict::kImproved;
    }
    families += confirmed ? 1 : 0;
  }
  EXPECT_LE(families, 9);  // At a rate of 0.012 more than 9 of 300 come once in 130 seeds.
}

TEST(Engine, FindsInjectedSlowdowns) {
  const auto found = [](double effect, Resource resource) {
    int regressed = 0;
    for (std::uint64_t run = 0; run < 50; ++run) {
      PaperLab lab(1000 + run);
      lab.spread = 0.03;
      lab.slowdown["g/s/c"] = effect;
      const auto results = measured(lab, {task_of("g/s/c", resource), task_of("g/s/d")}, run);
      regressed += results[0].verdict == AbVerdict::kRegressed ? 1 : 0;
    }
    return regressed;
  };
  EXPECT_EQ(found(0.20, Resource::kCpu), 50);
  EXPECT_GE(found(0.10, Resource::kCpu), 48);
  EXPECT_GE(found(0.10, Resource::kDb), 48);
  const int at_the_floor = found(0.05, Resource::kCpu);  // Half, by construction.
  EXPECT_GE(at_the_floor, 10);
  EXPECT_LE(at_the_floor, 40);
}

TEST(Engine, ABlockDuringWhichTheMachineChangedIsVoidAndTakenAgain) {
  PaperLab lab(6);
  lab.slowdown["g/s/c"] = 0.2;
  lab.episode = [](milliseconds at) { return at.count() % 5000 >= 4000; };
  const auto results = measured(lab, {task_of("g/s/c")});
  EXPECT_EQ(results[0].verdict, AbVerdict::kRegressed);
  EXPECT_NEAR(results[0].ratio.value, 1.2, 0.03);
  EXPECT_GE(results[0].canary.void_blocks, 1U);
  EXPECT_EQ(results[0].pairs.size(), 12U);
}

TEST(Engine, AMachineThatIsSlowAllTheWhileTellsAsWell) {
  PaperLab lab(7);
  lab.slowdown["g/s/c"] = 0.2;
  lab.episode = [](milliseconds at) { return at >= seconds(4); };
  const auto results = measured(lab, {task_of("g/s/c"), task_of("g/s/d")});
  EXPECT_EQ(results[0].verdict, AbVerdict::kRegressed) << results[0].reason;
  EXPECT_NEAR(results[0].ratio.value, 1.2, 0.03);
  EXPECT_EQ(results[1].verdict, AbVerdict::kSame) << results[1].reason;
  EXPECT_LE(results[1].canary.void_blocks, 1U);
}

TEST(Engine, AMachineThatKeepsChangingGivesNoCpuVerdictButADatabaseCaseIsMeasured) {
  PaperLab lab(8);
  lab.slowdown["g/s/c"] = 0.3;
  lab.episode = [](milliseconds at) { return at.count() % 800 >= 400; };
  const auto results = measured(lab, {task_of("g/s/c"), task_of("g/s/d", Resource::kDb)});
  EXPECT_EQ(results[0].verdict, AbVerdict::kInconclusive);
  EXPECT_NE(results[0].reason.find("canary"), std::string::npos);
  EXPECT_EQ(results[1].pairs.size(), 24U);
  EXPECT_GE(lab.now().time_since_epoch(), seconds(60));
  EXPECT_LT(lab.now().time_since_epoch(), seconds(250));
}

TEST(Engine, ACaseIsMeasuredInCalmWhateverAnotherSpentOnVoidBlocks) {
  PaperLab lab(12);
  lab.slowdown["g/s/d"] = 0.2;
  bool calm = false;
  lab.episode = [&](milliseconds at) { return !calm && at.count() % 800 >= 400; };
  MeasureOptions options;
  options.calm_budget = seconds(20);
  options.progress = [&](const AbProgress& progress) { calm = progress.number == 2; };
  const std::vector<AbTask> tasks{task_of("g/s/c"), task_of("g/s/d")};
  const auto results = measure(lab, tasks, options);
  ASSERT_TRUE(results.has_value());
  EXPECT_EQ((*results)[0].verdict, AbVerdict::kInconclusive);
  EXPECT_EQ((*results)[1].verdict, AbVerdict::kRegressed) << (*results)[1].reason;
}

TEST(Engine, AFailedSampleIsAnErrorAndNeverANumber) {
  PaperLab lab(9);
  lab.failing = "g/s/c";
  const auto results = measured(lab, {task_of("g/s/c"), task_of("g/s/d")});
  EXPECT_EQ(results[0].verdict, AbVerdict::kError);
  EXPECT_EQ(results[0].reason, "new: exit 3: wrong: a key was lost");
  EXPECT_TRUE(results[0].pairs.empty());
  EXPECT_EQ(results[1].verdict, AbVerdict::kSame);
  lab.fails_on = AbSideName::kBase;
  EXPECT_EQ(measured(lab, {task_of("g/s/c")})[0].reason, "base: exit 3: wrong: a key was lost");
}

TEST(Engine, AnInterruptionEndsEverything) {
  PaperLab lab(10);
  lab.cancel_after = 7;
  const std::vector<AbTask> tasks{task_of("g/s/c"), task_of("g/s/d")};
  const auto results = measure(lab, tasks, {});
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().code, Errc::kCancelled);
  EXPECT_EQ(lab.samples, 7);
}

TEST(Engine, ProgressCountsDownToNothing) {
  PaperLab lab(11);
  lab.slowdown["g/s/c"] = 0.2;
  std::vector<AbProgress> seen;
  MeasureOptions options;
  options.progress = [&](const AbProgress& progress) { seen.push_back(progress); };
  const std::vector<AbTask> tasks{task_of("g/s/c")};
  ASSERT_TRUE(measure(lab, tasks, options).has_value());
  ASSERT_EQ(seen.size(), 6U);
  EXPECT_EQ(seen[0].pairs, 0U);
  EXPECT_EQ(seen[5].pairs, 10U);
  EXPECT_EQ(seen[5].pairs_wanted, 12U);
  EXPECT_LT(seen[5].left, seen[1].left);
  EXPECT_GT(seen[5].left.count(), 0);
}

}  // namespace
}  // namespace plimsoll::compare
