#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <system_error>

#include "compare/ab/ab.hpp"
#include "compare/ab/bench_binary.hpp"
#include "compare/ab/build_id.hpp"
#include "compare/ab/command.hpp"
#include "compare/ab/engine.hpp"
#include "compare/ab/plan.hpp"
#include "compare/ab/trial.hpp"
#include "lib/core/canary.hpp"

namespace plimsoll::compare {
namespace {

using std::chrono::nanoseconds;

constexpr double kDefaultMinEffect = 0.05;

/// The two binaries of one group.
struct Pairing {
  std::unique_ptr<BenchBinary> base;
  std::unique_ptr<BenchBinary> fresh;
};

/// The machine itself.
class RealLab final : public Lab {
 public:
  explicit RealLab(const AbRequest& request) : request_(request) {}

  void add(const std::string& group, Pairing pairing) { pairings_[group] = std::move(pairing); }
  [[nodiscard]] Pairing& pairing(const std::string& group) { return pairings_.at(group); }
  void set_dialect(const AbTask& task, AbSideName side, Dialect dialect) {
    dialects_[{task.target.benchmark, side}] = dialect;
  }

  Result<AbSample> sample(const AbTask& task, AbSideName side) override {
    SampleOrder order;
    order.dialect = dialects_.at({task.target.benchmark, side});
    order.benchmark = task.target.benchmark;
    order.operations = task.operations;
    order.repetitions = request_.repetitions;
    order.repetition = request_.repetition;
    order.size = request_.size;
    order.resource = task.resource;
    Pairing& pairing = pairings_.at(task.target.group);
    const auto reading = (side == AbSideName::kBase ? pairing.base : pairing.fresh)->run(order);
    if (!reading) return fail(reading.error());
    return reading->sample;
  }

  nanoseconds canary() override { return read_canary(); }
  TimePoint now() override { return Clock::now(); }

 private:
  const AbRequest& request_;
  std::map<std::string, Pairing> pairings_;
  std::map<std::pair<std::string, AbSideName>, Dialect> dialects_;
};

class AbRun {
 public:
  AbRun(AbRequest request, const HeldSignals& signals, const ScratchDirectory& scratch)
      : request_(std::move(request)), signals_(signals), scratch_(scratch), lab_(request_) {}

  Result<AbOutcome> run() {
    auto plan = plan_ab(request_, signals_);
    if (!plan) return fail(plan.error());
    outcome_.notes = plan->notes;
    for (const PlannedGroup& group : plan->groups) {
      if (auto ready = open(group); !ready) return fail(ready.error());
    }
    for (const AbTarget& target : plan->missing) {
      add_result(target, AbVerdict::kMissing, "only one side has its group");
      std::erase(request_.targets, target);
    }
    if (plan->groups.empty()) return measure_and_assemble();
    if (auto found = choose_targets(*plan); !found) return fail(found.error());
    for (const AbTarget& target : targets_) {
      if (auto prepared = prepare(target); !prepared) return fail(prepared.error());
    }
    if (auto fires = fit_policy(); !fires) return fail(fires.error());
    note_infrastructure();
    return measure_and_assemble();
  }

 private:
  void note(std::string text) {
    if (request_.say) request_.say(text);
    outcome_.notes.push_back(std::move(text));
  }

  Result<void> open(const PlannedGroup& group) {
    auto fresh = group.fresh;
    if (request_.null_control) {
      auto copy = copy_of(group.base);
      if (!copy) return fail(copy.error());
      fresh = *copy;
    }
    const auto id = build_id_of(group.base);
    const bool same_servers = request_.base.environment == request_.fresh.environment;
    if (id && id == build_id_of(fresh) && same_servers && !request_.null_control)
      unchanged_[group.name] = *id;
    lab_.add(group.name, {make(group.base, request_.base, 1), make(fresh, request_.fresh, 2)});
    return {};
  }

  /// A byte copy, with links beside it to whatever lies beside the original: a binary may look
  /// there for its helpers.
  Result<std::filesystem::path> copy_of(const std::filesystem::path& binary) {
    const auto folder = scratch_.path() / "null-control";
    const auto copy = folder / binary.filename();
    std::error_code error;
    std::filesystem::create_directory(folder, error);
    const auto home = std::filesystem::absolute(binary, error).parent_path();
    for (const auto& entry : std::filesystem::directory_iterator(home, error)) {
      std::error_code exists_already;
      std::filesystem::create_symlink(entry.path(), folder / entry.path().filename(),
                                      exists_already);
    }
    std::filesystem::remove(copy, error);
    std::filesystem::copy_file(binary, copy, error);
    if (!error) return copy;
    return fail(Errc::kInternal,
                fmt::format("cannot copy {}: {}", binary.string(), error.message()));
  }

  std::unique_ptr<BenchBinary> make(const std::filesystem::path& path, const AbSide& side,
                                    std::uint64_t stream) {
    BenchBinary::Options options;
    options.environment = side.environment;
    options.limit = request_.sample_limit;
    options.repetition = request_.repetition;
    options.repetitions = request_.repetitions;
    options.size = request_.size;
    options.seed = request_.seed * 2 + stream;
    return std::make_unique<BenchBinary>(path, std::move(options), scratch_, signals_);
  }

  /// Lists both sides and keeps what is asked for and present on both.
  Result<void> choose_targets(const AbPlan& plan) {
    std::vector<Listing> listings;
    for (const PlannedGroup& group : plan.groups) {
      Pairing& pairing = lab_.pairing(group.name);
      const auto base = pairing.base->list();
      if (!base) return fail(base.error());
      const auto fresh = pairing.fresh->list();
      if (!fresh) return fail(fresh.error());
      listings.push_back({group.name, *base, *fresh});
    }
    auto chosen = select_targets(request_, listings);
    if (!chosen) return fail(chosen.error());
    targets_ = chosen->both;
    for (const AbTarget& target : chosen->neither) {
      add_result(target, AbVerdict::kMissing, "neither side has it in this size");
    }
    for (const AbTarget& target : chosen->base_only) {
      add_result(target, AbVerdict::kMissing, "only the base has it");
    }
    for (const AbTarget& target : chosen->fresh_only) {
      if (request_.targets.empty()) {
        note(fmt::format("{} is new: there is nothing to compare it with", target.benchmark));
      } else {
        add_result(target, AbVerdict::kMissing, "only the new side has it");
      }
    }
    return {};
  }

  /// Makes a task of the target, or already a result.
  Result<void> prepare(const AbTarget& target) {
    if (const auto same = unchanged_.find(target.group); same != unchanged_.end()) {
      add_result(target, AbVerdict::kUnchangedBinary,
                 fmt::format("build id {:.12} on both sides", same->second));
      return {};
    }
    Pairing& pairing = lab_.pairing(target.group);
    auto base = pairing.base->calibrate(target);
    if (!base) return failed(target, "base", base.error());
    auto dialect = base->dialect;
    if (dialect !=
        Dialect::kOurs) {  // The other side may be linked to another version of the library.
      const auto fresh = pairing.fresh->calibrate(target);
      if (!fresh) return failed(target, "new", fresh.error());
      dialect = fresh->dialect;
    }
    if (!base->gate && request_.targets.empty() && request_.filter.empty()) {
      note(fmt::format("{} does not gate; name it to measure it", target.benchmark));
      return {};
    }
    AbTask& task = tasks_.emplace_back(base->task);
    used_server_ = used_server_ || base->used_server || task.resource == Resource::kDb;
    if (request_.min_effect > 0) task.min_effect = request_.min_effect;
    if (task.min_effect <= 0) task.min_effect = kDefaultMinEffect;
    lab_.set_dialect(task, AbSideName::kBase, base->dialect);
    lab_.set_dialect(task, AbSideName::kFresh, dialect);
    return {};
  }

  Result<void> failed(const AbTarget& target, std::string_view side, const Error& error) {
    if (error.code == Errc::kCancelled) return fail(error);
    add_result(target, AbVerdict::kError, fmt::format("{}: {}", side, error.message));
    return {};
  }

  void add_result(const AbTarget& target, AbVerdict verdict, std::string reason) {
    AbResult& result = outcome_.results.emplace_back();
    result.target = target;
    result.verdict = verdict;
    result.reason = std::move(reason);
  }

  /// Holds the policy against the family, which the groups as wholes belong to, and takes the first
  /// look where it can confirm something.
  Result<void> fit_policy() {
    const auto wholes = wholes_of(tasks_);
    AbPolicy& policy = request_.policy;
    if (auto fires = check_resolution(policy, tasks_.size() + wholes.size()); !fires) return fires;
    const auto may_fire =
        std::count_if(tasks_.begin(), tasks_.end(), [](const AbTask& t) { return t.is_cpu(); }) +
        std::count_if(wholes.begin(), wholes.end(), [](const Whole& w) { return w.is_cpu; });
    policy.first_pairs = pairs_at_first_look(policy, static_cast<std::size_t>(may_fire));
    return {};
  }

  void note_infrastructure() {
    if (!used_server_) return;
    for (const char* variable : {"PLIMSOLL_INFRA_STATE", "PLIMSOLL_PG_URL"}) {
      const bool both = request_.base.environment.contains(variable) &&
                        request_.fresh.environment.contains(variable);
      if (std::getenv(variable) != nullptr || both) return;
    }
    note(
        "every sample starts a server of its own; `plimsoll-infra up` makes this faster, and both "
        "sides share one");
  }

  Result<AbOutcome> measure_and_assemble() {
    MeasureOptions options;
    options.policy = request_.policy;
    options.seed = request_.seed;
    options.calm_budget = request_.calm_budget;
    options.progress = request_.progress;
    auto measured =
        tasks_.empty() ? Result<std::vector<AbResult>>{} : measure(lab_, tasks_, options);
    if (!measured) return fail(measured.error());
    std::move(measured->begin(), measured->end(), std::back_inserter(outcome_.results));
    std::sort(outcome_.results.begin(), outcome_.results.end(),
              [](const AbResult& a, const AbResult& b) {
                return a.target.benchmark < b.target.benchmark;
              });
    outcome_.base = request_.base.label;
    outcome_.fresh = request_.null_control ? "a byte copy of the base" : request_.fresh.label;
    outcome_.seed = request_.seed;
    outcome_.policy = request_.policy;
    outcome_.null_control = request_.null_control;
    return std::move(outcome_);
  }

  AbRequest request_;  ///< Without the targets that turned out to be missing.
  const HeldSignals& signals_;
  const ScratchDirectory& scratch_;
  RealLab lab_;
  std::map<std::string, std::string> unchanged_;  ///< Group to build id.
  std::vector<AbTarget> targets_;
  std::vector<AbTask> tasks_;
  bool used_server_ = false;
  AbOutcome outcome_;
};

}  // namespace

Result<AbOutcome> run_ab(const AbRequest& request) {
  const HeldSignals signals;
  const auto cache = cache_root();
  if (!cache) return fail(cache.error());
  // Two measurements at once, or a build beside one, would measure each other.
  const auto alone = FileLock::acquire(*cache / "measuring.lock", signals, [&] {
    if (request.say) request.say("waiting for another A/B on this machine");
  });
  if (!alone) return fail(alone.error());
  const auto scratch = ScratchDirectory::create();
  if (!scratch) return fail(scratch.error());
  return AbRun(request, signals, *scratch).run();
}

}  // namespace plimsoll::compare
