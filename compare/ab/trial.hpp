#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/ab/ab.hpp"
#include "compare/ab/engine.hpp"
#include "compare/ab/judge.hpp"

/// What the engine keeps while it measures.
namespace plimsoll::compare {

[[nodiscard]] inline bool confirms(const Judgement& judgement) {
  return judgement.verdict == AbVerdict::kRegressed || judgement.verdict == AbVerdict::kImproved;
}

struct Block {
  std::array<AbPair, 2> pairs;
  std::vector<std::chrono::nanoseconds> canary;
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

  [[nodiscard]] bool is_confirmed() const { return stopped && confirms(judgement); }

  [[nodiscard]] std::vector<double> log_ratios(double AbPair::*base, double AbPair::*fresh) const {
    std::vector<double> ratios;
    for (const Block& block : blocks) {
      for (const AbPair& pair : block.pairs) ratios.push_back(std::log(pair.*fresh / pair.*base));
    }
    return ratios;
  }
};

/// The cases of one group that gate on one clock, taken as one: what they share may have become
/// slower by less than each of them can show on a restless machine.
struct Whole {
  std::string group;
  std::string metric;
  bool is_cpu = false;
  std::size_t cases = 0;
  double min_effect = 0;  ///< The largest of its cases'.
  std::vector<AbPair> pairs;
  std::vector<double> log_ratios;  ///< One a block, since its two pairs share a coin.
  bool stopped = false;
  Judgement judgement;

  [[nodiscard]] bool has(const AbTask& task) const {
    return task.target.group == group && task.metric == metric;
  }
  [[nodiscard]] bool is_confirmed() const { return stopped && confirms(judgement); }
  /// Takes what these trials have measured so far.
  void pool(std::span<Trial* const> trials);
};

/// The groups of these tasks that have enough cases to be more than their sum; nothing pooled yet.
[[nodiscard]] std::vector<Whole> wholes_of(std::span<const AbTask> tasks);

}  // namespace plimsoll::compare
