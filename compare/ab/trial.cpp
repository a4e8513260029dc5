#include "compare/ab/trial.hpp"

#include <algorithm>

namespace plimsoll::compare {
namespace {

constexpr std::size_t kFewestCases = 3;

}  // namespace

void Whole::pool(std::span<Trial* const> trials) {
  cases = 0;
  pairs.clear();
  log_ratios.clear();
  for (const Trial* trial : trials) {
    if (!has(*trial->task)) continue;
    ++cases;
    for (const Block& block : trial->blocks) {
      double sum = 0;
      for (const AbPair& pair : block.pairs) {
        sum += std::log(pair.fresh / pair.base);
        pairs.push_back(pair);
      }
      log_ratios.push_back(sum / static_cast<double>(block.pairs.size()));
    }
  }
  if (cases < kFewestCases) log_ratios.clear();  // Too many failed: it stays undecided.
}

std::vector<Whole> wholes_of(std::span<const AbTask> tasks) {
  std::vector<Whole> wholes;
  for (const AbTask& task : tasks) {
    if (task.target.group.empty()) continue;
    auto whole = std::find_if(wholes.begin(), wholes.end(),
                              [&](const Whole& each) { return each.has(task); });
    if (whole == wholes.end()) {
      whole = wholes.insert(whole, Whole());
      whole->group = task.target.group;
      whole->metric = task.metric;
      whole->is_cpu = task.is_cpu();
    }
    ++whole->cases;
    whole->min_effect = std::max(whole->min_effect, task.min_effect);
  }
  std::erase_if(wholes, [](const Whole& each) { return each.cases < kFewestCases; });
  return wholes;
}

}  // namespace plimsoll::compare
