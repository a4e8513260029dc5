#include "compare/ab/trial.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace plimsoll::compare {
namespace {

constexpr std::size_t kFewestCases = 3;

}  // namespace

void Whole::pool(std::span<Trial* const> trials) {
  cases = 0;
  pairs.clear();
  log_ratios.clear();
  for (const Trial* trial : trials) {
    if (!has(*trial)) continue;
    ++cases;
    min_effect = std::max(min_effect, trial->task->min_effect);
    for (const Block& block : trial->blocks) {
      double sum = 0;
      for (const AbPair& pair : block.pairs) {
        sum += std::log(pair.fresh / pair.base);
        pairs.push_back(pair);
      }
      log_ratios.push_back(sum / static_cast<double>(block.pairs.size()));
    }
  }
}

std::vector<Whole> wholes_of(std::span<Trial* const> trials) {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  std::map<std::pair<std::string, std::string>, bool> on_cpu;
  for (const Trial* trial : trials) {
    const std::pair key{trial->task->target.group, trial->task->metric};
    ++counts[key];
    on_cpu[key] = trial->task->is_cpu();
  }
  std::vector<Whole> wholes;
  for (const auto& [key, count] : counts) {
    if (count < kFewestCases || key.first.empty()) continue;
    Whole& whole = wholes.emplace_back();
    std::tie(whole.group, whole.metric) = key;
    whole.is_cpu = on_cpu[key];
  }
  return wholes;
}

}  // namespace plimsoll::compare
