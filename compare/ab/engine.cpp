#include "compare/ab/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "compare/ab/canary.hpp"
#include "lib/core/canary.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::compare {
namespace {

using std::chrono::nanoseconds;

struct Block {
  std::array<AbPair, 2> pairs;
  std::vector<nanoseconds> canary;
  std::vector<Validity> doubts;
};

struct Trial {
  const AbTask* task = nullptr;
  std::vector<Block> blocks;
  std::size_t void_blocks = 0;
  std::size_t looks = 0;
  std::optional<std::string> failure;
  bool out_of_patience = false;
  bool stopped = false;
  Judgement judgement;

  [[nodiscard]] std::size_t pairs() const { return 2 * blocks.size(); }
  [[nodiscard]] bool runs() const { return !failure && !out_of_patience && !stopped; }

  [[nodiscard]] std::vector<double> log_ratios(double AbPair::*base, double AbPair::*fresh) const {
    std::vector<double> ratios;
    for (const Block& block : blocks) {
      for (const AbPair& pair : block.pairs) ratios.push_back(std::log(pair.*fresh / pair.*base));
    }
    return ratios;
  }
};

class Measurement {
 public:
  Measurement(Lab& lab, std::span<const AbTask> tasks, const MeasureOptions& options)
      : lab_(lab), options_(options), rng_(options.seed), start_(lab.now()) {
    for (const AbTask& task : tasks) trials_.emplace_back().task = &task;
  }

  Result<std::vector<AbResult>> run() {
    const auto may_fire = std::count_if(trials_.begin(), trials_.end(),
                                        [](const Trial& trial) { return trial.task->is_cpu(); });
    const auto first = pairs_at_first_look(options_.policy, static_cast<std::size_t>(may_fire));
    if (auto got = collect_all(first); !got) return fail(got.error());
    look_first();
    if (auto got = collect_all(options_.policy.final_pairs); !got) return fail(got.error());
    look_finally();
    std::vector<AbResult> results;
    for (const Trial& trial : trials_) results.push_back(result_of(trial));
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

  [[nodiscard]] Evidence evidence_of(const Trial& trial, bool may_fire) const {
    return {trial.log_ratios(&AbPair::base, &AbPair::fresh), trial.task->min_effect, may_fire,
            trial.stopped && trial.judgement.verdict != AbVerdict::kSame};
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

  void look_first() {
    const auto members = family();
    std::vector<Evidence> evidence;
    for (const Trial* trial : members)
      evidence.push_back(evidence_of(*trial, trial->task->is_cpu()));
    const auto judgements = first_look(evidence, options_.policy);
    for (std::size_t i = 0; i < members.size(); ++i) {
      members[i]->judgement = judgements[i];
      members[i]->stopped = judgements[i].stop;
      ++members[i]->looks;
    }
  }

  void look_finally() {
    const auto members = family();
    std::vector<Evidence> evidence;
    for (const Trial* trial : members) evidence.push_back(evidence_of(*trial, !trial->stopped));
    const auto judgements = final_look(evidence, options_.policy);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i]->stopped) continue;
      members[i]->judgement = judgements[i];
      ++members[i]->looks;
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
    const Judgement& judged = trial.judgement;
    result.verdict = judged.verdict;
    result.reason = judged.reason;
    result.p = judged.p;
    result.p_adjusted = judged.p_adjusted;
    result.ratio = {std::exp(judged.log_ratio.value), std::exp(judged.log_ratio.low),
                    std::exp(judged.log_ratio.high)};
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
