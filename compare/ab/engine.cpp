#include "compare/ab/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "compare/ab/canary.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::compare {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kCalmPause = std::chrono::milliseconds(500);
constexpr int kFirstReadings = 10;

struct Block {
  std::array<AbPair, 2> pairs;
  std::vector<nanoseconds> canary;
  std::vector<Validity> doubts;
  nanoseconds took{};
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
    for (int i = 0; i < kFirstReadings; ++i) log_.add(lab_.canary());
    if (auto got = collect_all(options_.policy.first_pairs); !got) return fail(got.error());
    look_first();
    if (auto got = collect_all(options_.policy.final_pairs); !got) return fail(got.error());
    look_finally();
    std::vector<AbResult> results;
    for (const Trial& trial : trials_) results.push_back(result_of(trial));
    return results;
  }

 private:
  /// Until nothing is missing: a later trial may show that an earlier one's calm was none.
  Result<void> collect_all(std::size_t pairs) {
    wanted_ = pairs;
    const auto lacks = [&](Trial& trial) {
      drop_disturbed(trial);
      return trial.runs() && trial.pairs() < pairs;
    };
    while (std::any_of(trials_.begin(), trials_.end(), lacks)) {
      for (Trial& trial : trials_) {
        if (auto got = collect(trial, pairs); !got) return got;
      }
    }
    return {};
  }

  Result<void> collect(Trial& trial, std::size_t pairs) {
    while (trial.runs() && trial.pairs() < pairs) {
      report(trial, false);
      if (trial.task->is_cpu()) {
        if (auto calm = wait_for_calm(trial); !calm) return calm;
        if (!trial.runs()) return {};
      }
      if (auto taken = take_block(trial); !taken) return taken;
      drop_disturbed(trial);
    }
    return {};
  }

  void drop_disturbed(Trial& trial) {
    if (!trial.runs() || !trial.task->is_cpu()) return;
    const auto dropped = std::erase_if(trial.blocks, [&](const Block& block) {
      if (!log_.disturbed(block.canary)) return false;
      patience_used_ += block.took;
      return true;
    });
    trial.void_blocks += dropped;
    if (dropped > 0 && patience_used_ >= options_.calm_budget) trial.out_of_patience = true;
  }

  /// Sets `out_of_patience` when the machine is not calm and the budget is used up. While it is
  /// calm, a case may begin whatever the cases before it used up.
  Result<void> wait_for_calm(Trial& trial) {
    for (;;) {
      const TimePoint before = lab_.now();
      const nanoseconds reading = lab_.canary();
      log_.add(reading);
      if (!log_.off(reading)) return {};
      if (patience_used_ >= options_.calm_budget) {
        trial.out_of_patience = true;
        return {};
      }
      report(trial, true);
      if (auto paused = lab_.pause(kCalmPause); !paused) return paused;
      patience_used_ += lab_.now() - before;
    }
  }

  /// Adds a block, or sets `failure`. Errors: kCancelled only.
  Result<void> take_block(Trial& trial) {
    constexpr std::array kAbba{AbSideName::kBase, AbSideName::kFresh, AbSideName::kFresh,
                               AbSideName::kBase};
    const bool turned = rng_.below(2) == 1;
    const TimePoint before = lab_.now();
    Block block;
    for (std::size_t i = 0; i < kAbba.size(); ++i) {
      const bool is_base = (kAbba[i] == AbSideName::kBase) != turned;
      read_canary_beside(block);
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
    read_canary_beside(block);
    block.took = lab_.now() - before;
    trial.blocks.push_back(std::move(block));
    ++blocks_taken_;
    return {};
  }

  void read_canary_beside(Block& block) {
    block.canary.push_back(lab_.canary());
    log_.add(block.canary.back());
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
    result.canary = {log_.calm_ns(), 0, trial.void_blocks};
    std::size_t disturbed = 0;
    for (const Block& block : trial.blocks) {
      result.pairs.insert(result.pairs.end(), block.pairs.begin(), block.pairs.end());
      disturbed += log_.disturbed(block.canary) ? 1 : 0;
      for (const Validity doubt : block.doubts) ++result.doubts[doubt];
      for (const nanoseconds reading : block.canary) {
        result.canary.worst = std::max(result.canary.worst, log_.relative(reading));
      }
    }
    set_verdict(result, trial, disturbed);
    return result;
  }

  void set_verdict(AbResult& result, const Trial& trial, std::size_t disturbed) const {
    if (trial.failure) {
      result.verdict = AbVerdict::kError;
      result.reason = *trial.failure;
      return;
    }
    if (trial.out_of_patience || (trial.task->is_cpu() && disturbed > 0)) {
      result.verdict = AbVerdict::kInconclusive;
      result.reason = fmt::format(
          "the machine did not stay calm: the canary was off by more than {:.0f} % beside {} of {} "
          "blocks",
          CanaryLog::kOff * 100, trial.void_blocks + disturbed,
          trial.void_blocks + trial.blocks.size());
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

  void report(const Trial& trial, bool waiting) {
    if (!options_.progress) return;
    AbProgress progress;
    progress.benchmark = trial.task->target.benchmark;
    progress.number = static_cast<std::size_t>(&trial - trials_.data()) + 1;
    progress.benchmarks = trials_.size();
    progress.pairs = trial.pairs();
    progress.pairs_wanted = wanted_;
    progress.waiting = waiting;
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
  CanaryLog log_;
  nanoseconds patience_used_{};
  std::size_t blocks_taken_ = 0;
  std::size_t wanted_ = 0;
};

}  // namespace

Result<std::vector<AbResult>> measure(Lab& lab, std::span<const AbTask> tasks,
                                      const MeasureOptions& options) {
  return Measurement(lab, tasks, options).run();
}

}  // namespace plimsoll::compare
