#include "compare/ab/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "compare/ab/canary.hpp"
#include "compare/ab/trial.hpp"
#include "lib/core/canary.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::compare {
namespace {

using std::chrono::nanoseconds;

class Measurement {
 public:
  Measurement(Lab& lab, std::span<const AbTask> tasks, const MeasureOptions& options)
      : lab_(lab),
        options_(options),
        rng_(options.seed),
        start_(lab.now()),
        wholes_(wholes_of(tasks)) {
    for (const AbTask& task : tasks) trials_.emplace_back().task = &task;
  }

  Result<std::vector<AbResult>> run() {
    if (auto got = collect_all(options_.policy.first_pairs); !got) return fail(got.error());
    look(false);
    if (auto got = collect_all(options_.policy.final_pairs); !got) return fail(got.error());
    look(true);
    std::vector<AbResult> results;
    for (const Trial& trial : trials_) results.push_back(result_of(trial));
    for (const Whole& whole : wholes_) {
      if (whole.is_confirmed()) results.push_back(result_of(whole));
    }
    return results;
  }

 private:
  Result<void> collect_all(std::size_t pairs) {
    wanted_ = pairs;
    for (Trial& trial : trials_) {
      while (trial.runs() && trial.pairs() < pairs) {
        report(trial);
        if (auto taken = take_block(trial); !taken) return taken;
      }
    }
    return {};
  }

  /// Adds a block, unless it is void; or sets `failure`. Errors: kCancelled only.
  Result<void> take_block(Trial& trial) {
    constexpr std::array kAbba{AbSideName::kBase, AbSideName::kFresh, AbSideName::kFresh,
                               AbSideName::kBase};
    const bool turned = rng_.below(2) == 1;
    const TimePoint before = lab_.now();
    Block block;
    for (std::size_t i = 0; i < kAbba.size(); ++i) {
      const bool is_base = (kAbba[i] == AbSideName::kBase) != turned;
      block.canary.push_back(lab_.canary());
      const auto sample =
          lab_.sample(*trial.task, is_base ? AbSideName::kBase : AbSideName::kFresh);
      if (!sample) {
        if (sample.error().code == Errc::kCancelled) return fail(sample.error());
        trial.failure = fmt::format("{}: {}", is_base ? "base" : "new", sample.error().message);
        return {};
      }
      AbPair& pair = block.pairs[i / 2];
      (is_base ? pair.base : pair.fresh) = sample->gated_ns;
      (is_base ? pair.base_real : pair.fresh_real) = sample->real_ns;
      if (sample->validity != Validity::kValid) block.doubts.push_back(sample->validity);
    }
    block.canary.push_back(lab_.canary());
    ++blocks_taken_;
    if (trial.task->is_cpu() && disturbed(block.canary)) {
      ++trial.void_blocks;
      spent_on_void_ += lab_.now() - before;
      trial.out_of_patience = spent_on_void_ >= options_.calm_budget;
    } else {
      trial.blocks.push_back(std::move(block));
    }
    return {};
  }

  [[nodiscard]] PairEvidence evidence_of(const Trial& trial, bool may_fire) const {
    return {trial.log_ratios(&AbPair::base, &AbPair::fresh), trial.task->min_effect, may_fire,
            trial.is_confirmed()};
  }

  /// The trials that are judged: what failed or could not be measured is no member of the family,
  /// for reasons that have nothing to do with its numbers.
  [[nodiscard]] std::vector<Trial*> family() {
    std::vector<Trial*> members;
    for (Trial& trial : trials_) {
      if (!trial.failure && !trial.out_of_patience) members.push_back(&trial);
    }
    return members;
  }

  /// Judges every trial that is not settled, and each group as a whole, as members of one family.
  void look(bool last) {
    const auto members = family();
    std::vector<PairEvidence> evidence;
    for (const Trial* trial : members) {
      evidence.push_back(evidence_of(*trial, last ? !trial->stopped : trial->task->is_cpu()));
    }
    for (Whole& whole : wholes_) {
      whole.pool(members);
      evidence.push_back({whole.log_ratios, whole.min_effect, last ? !whole.stopped : whole.is_cpu,
                          whole.is_confirmed()});
    }
    const auto judgements =
        last ? final_look(evidence, options_.policy) : first_look(evidence, options_.policy);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (std::exchange(members[i]->stopped, members[i]->stopped || judgements[i].stop)) continue;
      members[i]->judgement = judgements[i];
      ++members[i]->looks;
    }
    for (std::size_t i = 0; i < wholes_.size(); ++i) {
      const Judgement& judged = judgements[members.size() + i];
      if (std::exchange(wholes_[i].stopped, wholes_[i].stopped || judged.stop)) continue;
      wholes_[i].judgement = judged;
      if (!last && judged.verdict == AbVerdict::kRegressed) stop_members_of(wholes_[i], members);
    }
  }

  /// It is red, and more pairs of its cases would not change that.
  static void stop_members_of(const Whole& whole, const std::vector<Trial*>& members) {
    for (Trial* trial : members) {
      if (!whole.has(*trial->task) || trial->stopped) continue;
      trial->stopped = true;
      trial->judgement.reason = fmt::format("not told apart from {}/*, which is {} as a whole",
                                            whole.group, name(whole.judgement.verdict));
    }
  }

  [[nodiscard]] AbResult result_of(const Trial& trial) const {
    const AbTask& task = *trial.task;
    AbResult result;
    result.target = task.target;
    result.resource = task.resource;
    result.metric = task.metric;
    result.min_effect = task.min_effect;
    result.operations = task.operations;
    result.looks = trial.looks;
    result.canary.void_blocks = trial.void_blocks;
    std::vector<nanoseconds> readings;
    for (const Block& block : trial.blocks) {
      result.pairs.insert(result.pairs.end(), block.pairs.begin(), block.pairs.end());
      for (const Validity doubt : block.doubts) ++result.doubts[doubt];
      readings.insert(readings.end(), block.canary.begin(), block.canary.end());
    }
    result.canary.median_ns = median_ns(readings);
    if (!readings.empty()) {
      const auto slowest = *std::max_element(readings.begin(), readings.end());
      result.canary.worst = static_cast<double>(slowest.count()) / result.canary.median_ns;
    }
    set_verdict(result, trial);
    return result;
  }

  [[nodiscard]] static AbResult result_of(const Whole& whole) {
    AbResult result;
    result.target = {whole.group, whole.group + "/*"};
    result.cases = whole.cases;
    result.resource = whole.is_cpu ? Resource::kCpu : Resource::kDb;
    result.metric = whole.metric;
    result.min_effect = whole.min_effect;
    result.pairs = whole.pairs;
    take(whole.judgement, result);
    result.reason = fmt::format("its {} cases together: {}", whole.cases, whole.judgement.reason);
    return result;
  }

  static void take(const Judgement& judged, AbResult& result) {
    result.verdict = judged.verdict;
    result.reason = judged.reason;
    result.p = judged.p;
    result.p_adjusted = judged.p_adjusted;
    result.ratio = {std::exp(judged.log_ratio.value), std::exp(judged.log_ratio.low),
                    std::exp(judged.log_ratio.high)};
  }

  void set_verdict(AbResult& result, const Trial& trial) const {
    if (trial.failure) {
      result.verdict = AbVerdict::kError;
      result.reason = *trial.failure;
      return;
    }
    if (trial.out_of_patience) {
      result.verdict = AbVerdict::kInconclusive;
      result.reason = fmt::format(
          "the machine did not stay calm: during {} of {} blocks the canary changed by more than "
          "{:.0f} %",
          trial.void_blocks, trial.void_blocks + trial.blocks.size(), kCanaryOff * 100);
      return;
    }
    take(trial.judgement, result);
    const auto real = trial.log_ratios(&AbPair::base_real, &AbPair::fresh_real);
    result.real_ratio = std::exp(hodges_lehmann(real, options_.policy.confidence).value);
  }

  void report(const Trial& trial) {
    if (!options_.progress) return;
    AbProgress progress;
    progress.benchmark = trial.task->target.benchmark;
    progress.number = static_cast<std::size_t>(&trial - trials_.data()) + 1;
    progress.benchmarks = trials_.size();
    progress.pairs = trial.pairs();
    progress.pairs_wanted = wanted_;
    std::size_t missing = 0;
    for (const Trial& each : trials_) {
      const std::size_t goal = each.task->is_cpu() ? wanted_ : options_.policy.final_pairs;
      if (each.runs() && each.pairs() < goal) missing += goal - each.pairs();
    }
    if (blocks_taken_ > 0) {
      const auto each = (lab_.now() - start_) / static_cast<std::int64_t>(2 * blocks_taken_);
      progress.left = each * static_cast<std::int64_t>(missing);
    }
    options_.progress(progress);
  }

  Lab& lab_;
  const MeasureOptions& options_;
  Rng rng_;
  TimePoint start_;
  std::vector<Trial> trials_;
  std::vector<Whole> wholes_;
  nanoseconds spent_on_void_{};
  std::size_t blocks_taken_ = 0;
  std::size_t wanted_ = 0;
};

}  // namespace

Result<std::vector<AbResult>> measure(Lab& lab, std::span<const AbTask> tasks,
                                      const MeasureOptions& options) {
  return Measurement(lab, tasks, options).run();
}

}  // namespace plimsoll::compare
