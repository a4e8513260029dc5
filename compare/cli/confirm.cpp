#include "compare/cli/confirm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>

#include "compare/ab/ab.hpp"
#include "compare/ab/build_id.hpp"
#include "compare/ab/sides.hpp"
#include "compare/print_error.hpp"

namespace plimsoll::compare {
namespace {

namespace fs = std::filesystem;

/// The tree whose bin/ holds this very program.
fs::path own_tree() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path().parent_path();
}

Confirmation::Outcome outcome_of(AbVerdict verdict) {
  switch (verdict) {
    case AbVerdict::kRegressed:
      return Confirmation::Outcome::kRegressed;
    case AbVerdict::kImproved:
      return Confirmation::Outcome::kImproved;
    case AbVerdict::kSame:
      return Confirmation::Outcome::kSame;
    case AbVerdict::kUnchangedBinary:
      return Confirmation::Outcome::kUnchangedBinary;
    case AbVerdict::kError:
      return Confirmation::Outcome::kFailed;
    case AbVerdict::kUndecided:
    case AbVerdict::kInconclusive:
    case AbVerdict::kMissing:  // The base has no such case, so nothing can be said about it.
      return Confirmation::Outcome::kUndecided;
  }
  return Confirmation::Outcome::kUndecided;
}

Confirmation confirmation_of(const AbResult& result) {
  if (!is_judged(result)) {
    Confirmation none;
    none.benchmark = result.target.benchmark;
    none.metric = result.metric;
    none.outcome = outcome_of(result.verdict);
    none.ratio = none.low = none.high = none.p = kNoNumber;
    none.detail = result.reason;
    return none;
  }
  return {result.target.benchmark, result.metric,       outcome_of(result.verdict),
          result.ratio.value,      result.ratio.low,    result.ratio.high,
          result.p_adjusted,       result.pairs.size(), result.reason,
          result.target.group,     result.cases};
}

/// One line on a terminal, rewritten; nothing elsewhere.
void show_progress(const AbProgress& progress) {
  if (::isatty(STDERR_FILENO) == 0) return;
  const auto left = std::chrono::ceil<std::chrono::seconds>(progress.left).count();
  print_error("\r\033[Kconfirming [{}/{}] {}: {} of {} pairs, {}:{:02} left", progress.number,
              progress.benchmarks, progress.benchmark, progress.pairs, progress.pairs_wanted,
              left / 60, left % 60);
  std::fflush(stderr);
}

void clear_progress() {
  if (::isatty(STDERR_FILENO) != 0) print_error("\r\033[K");
}

/// Why the fresh side cannot be this tree, or "".
std::string unfit_tree(const fs::path& tree, const Suspect& suspect) {
  const fs::path binary = tree / "bin" / ("bench_" + suspect.group);
  const auto id = build_id_of(binary);
  if (!id) {
    return fmt::format(
        "{} cannot be read, so that its suspects cannot be re-run; name the build "
        "tree of the new results with --tree",
        binary.string());
  }
  if (!suspect.build_id.empty() && *id != suspect.build_id) {
    return fmt::format(
        "{} is not the binary that made the new results (build id {:.12}, not "
        "{:.12}), so that its suspects cannot be re-run",
        binary.string(), *id, suspect.build_id);
  }
  return {};
}

/// One A/B against one base.
void measure(const AbSide& base, const fs::path& tree, const std::vector<const Suspect*>& suspects,
             Confirmed& confirmed) {
  AbRequest request;
  request.base = base;
  request.fresh.kind = AbSide::Kind::kTree;
  request.fresh.path = tree;
  request.fresh.label = tree.string();
  for (const Suspect* suspect : suspects) {
    request.targets.push_back({suspect->group, suspect->benchmark});
    request.size = suspect->size;
  }
  request.progress = show_progress;
  request.say = [](const std::string& line) {
    clear_progress();
    print_error("{}\n", line);
  };
  const auto outcome = run_ab(request);
  clear_progress();
  if (!outcome) {
    confirmed.notes.push_back(
        fmt::format("fresh pairs against {}: {}", base.label, outcome.error().message));
    return;
  }
  confirmed.notes.insert(confirmed.notes.end(), outcome->notes.begin(), outcome->notes.end());
  for (const AbResult& result : outcome->results) {
    confirmed.confirmations.push_back(confirmation_of(result));
  }
}

}  // namespace

Result<void> check_base(const CheckOptions& options) {
  if (options.base_tree.empty() && options.base_rev.empty()) return {};
  const auto choice = choose_base(options.base_tree, options.base_rev, "", ".");
  if (!choice) return fail(choice.error());
  return {};
}

Result<Confirmed> confirm(const std::vector<Suspect>& suspects, const CheckOptions& options) {
  Confirmed confirmed;
  const fs::path tree = options.tree.empty() ? own_tree() : fs::path(options.tree);
  std::map<std::pair<std::string, std::string>, std::vector<const Suspect*>> by_base;
  std::map<std::string, std::string> unfit;  // By group.
  for (const Suspect& suspect : suspects) {
    const auto [found, first] = unfit.try_emplace(suspect.group);
    if (first) found->second = unfit_tree(tree, suspect);
    if (first && !found->second.empty()) confirmed.notes.push_back(found->second);
    if (found->second.empty()) {
      by_base[{suspect.baseline_commit, suspect.size}].push_back(&suspect);
    }
  }
  for (const auto& [key, members] : by_base) {
    const auto choice = choose_base(options.base_tree, options.base_rev, key.first, ".");
    if (!choice) return fail(choice.error());
    if (!choice->side) {
      confirmed.notes.push_back(choice->reason);
      continue;
    }
    confirmed.notes.push_back(fmt::format("{} suspect{} re-measured in fresh pairs against {}",
                                          members.size(), members.size() == 1 ? "" : "s",
                                          choice->reason));
    measure(*choice->side, tree, members, confirmed);
  }
  return confirmed;
}

}  // namespace plimsoll::compare
