#include "bench/harness/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "bench/harness/host.hpp"
#include "bench/harness/infra.hpp"
#include "bench/harness/interrupt.hpp"
#include "bench/harness/progress.hpp"
#include "lib/core/canary.hpp"
#include "lib/core/nearest.hpp"

namespace plimsoll::bench {
namespace {

/// How long and how often a size measures a case whose body runs Google's loop. Short keeps twenty
/// cases within 15 s; full has nine repetitions, the fewest from which a rank test between two
/// files says anything at p = 0.01.
struct Plan {
  double min_time;
  int repetitions;
};

Plan plan_of(Size size) {
  switch (size) {
    case Size::kSmoke:
      return {0.001, 1};
    case Size::kShort:
      return {0.04, 4};
    case Size::kFull:
      return {0.2, 9};
  }
  return {0.04, 4};
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '+';
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const auto end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_name_character);
}

bool is_parameter(std::string_view text) {
  const auto colon = text.find(':');
  return colon != std::string_view::npos && is_word(text.substr(0, colon)) &&
         is_word(text.substr(colon + 1));
}

/// The loop of a case that runs once is here, so that Google Benchmark sees exactly one iteration
/// whatever the body does.
void execute(const RegisteredCase& registered, Case& running) {
  if (registered.kind == Kind::kLoop) return registered.body(running);
  for (auto _ : running.state()) registered.body(running);
}

void run_guarded(const RegisteredCase& registered, benchmark::State& state) {
  Record& record = Registry::instance().new_record(registered.name);
  record.kind = registered.kind;
  record.resource = registered.options.resource;
  record.gate = registered.options.gate;
  Case running(registered.name, state, record);
  if (interrupting_signal() != 0) {
    record.interrupted = true;
    return running.fail("not run: a signal ended the session");
  }
  progress().begin_case(registered.name);
  // Smoke measures nothing that a neighbour could spoil, and a load case carries the load runner's
  // own verdict.
  const bool watched = size() != Size::kSmoke && record.kind == Kind::kLoop;
  if (watched) (void)host_watch().sample();
  const bool beside = watched && record.resource == Resource::kCpu && settings().operations == 0;
  const auto canary_before = beside ? recent_canary() : std::chrono::nanoseconds{};
  try {
    execute(registered, running);
  } catch (const std::exception& error) {
    running.fail(fmt::format("the body threw: {}", error.what()));
  } catch (...) {
    running.fail("the body threw something that is not a std::exception");
  }
  if (watched) take_validity(host_watch().sample(), record);
  if (beside && !running.failed()) {
    const std::chrono::duration<double, std::nano> both = canary_before + recent_canary();
    running.counter(kCanaryMetric, both.count() / 2);
  }
  // Google Benchmark aborts the process over a body that returns early; one bad case must not take
  // the others along.
  if (!running.failed() && state.iterations() < state.max_iterations) {
    running.fail("the body returned before its loop had ended");
  }
  if (!running.failed() && record.kind != Kind::kLoop && !record.reported) {
    running.fail(record.kind == Kind::kLoad
                     ? "the body ended without report(): nothing was measured"
                     : "the body ended without a counter or an invariant: nothing was counted");
  }
  if (running.failed()) {
    if (auto death = postgres_death()) add_crash(std::move(*death), record);
  }
}

}  // namespace

Registry& Registry::instance() {
  static Registry registry;
  return registry;
}

void Registry::add(RegisteredCase added) { cases_.push_back(std::move(added)); }

void Registry::reject(std::string reason) { mistakes_.push_back(std::move(reason)); }

std::optional<std::string> name_mistake(std::string_view name, std::string_view group) {
  const auto parts = split(name, '/');
  if (parts.size() < 3) {
    return fmt::format("case '{}' is not named group/subject/case/param:value", name);
  }
  if (parts[0] != group) {
    return fmt::format("case '{}' does not begin with its group, {}/", name, group);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool good = i < 3 ? is_word(parts[i]) : is_parameter(parts[i]);
    if (!good) {
      return fmt::format(
          "case '{}': '{}' is not {}", name, parts[i],
          i < 3 ? "a word of letters, digits and _.-+" : "a parameter as name:value");
    }
  }
  return std::nullopt;
}

Result<void> Registry::check(std::string_view group) const {
  std::vector<std::string> mistakes = mistakes_;
  std::set<std::string> seen;
  for (const RegisteredCase& each : cases_) {
    if (const auto mistake = name_mistake(each.name, group)) mistakes.push_back(*mistake);
    if (!seen.insert(each.name).second) {
      mistakes.push_back(fmt::format("case '{}' is registered twice", each.name));
    }
    if (!each.body) mistakes.push_back(fmt::format("case '{}' has no body", each.name));
  }
  if (mistakes.empty()) return {};
  return fail(Errc::kInvalidArgument, fmt::format("{}", fmt::join(mistakes, "; ")));
}

Result<std::vector<const RegisteredCase*>> Registry::select(const std::string& filter) const {
  const bool inverted = filter.starts_with('-');
  const std::string pattern = inverted ? filter.substr(1) : filter;
  std::vector<const RegisteredCase*> selected;
  try {
    const std::regex regex(pattern.empty() || pattern == "all" ? "." : pattern,
                           std::regex::extended);
    for (const RegisteredCase& each : cases_) {
      if (std::regex_search(each.name, regex) != inverted) selected.push_back(&each);
    }
  } catch (const std::regex_error& error) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("--benchmark_filter='{}' is not a POSIX extended regular expression: {}",
                    filter, error.what()));
  }
  if (!selected.empty()) return selected;
  // People filter by a part of the name more often than by all of it.
  std::vector<std::string> names;
  for (const RegisteredCase& each : cases_) {
    for (const std::string_view part : split(each.name, '/')) names.emplace_back(part);
  }
  for (const RegisteredCase& each : cases_) names.push_back(each.name);
  const auto near = nearest(pattern, names);
  return fail(
      Errc::kNotFound,
      near
          ? fmt::format("--benchmark_filter='{}' selects none of the {} cases; the nearest is '{}'",
                        filter, cases_.size(), *near)
          : std::string("this binary has no cases"));
}

Record& Registry::new_record(const std::string& name) { return records_[name].emplace_back(); }

const Record* Registry::record_of(const std::string& name, std::size_t repetition,
                                  std::size_t repetitions) const {
  const auto found = records_.find(name);
  if (found == records_.end()) return nullptr;
  const auto& records = found->second;
  if (records.size() < repetitions || repetition >= repetitions) return nullptr;
  return &records[records.size() - repetitions + repetition];
}

void Registry::forget(const std::string& name) { records_.erase(name); }

void register_with_google(const std::vector<const RegisteredCase*>& selected,
                          const Settings& settings) {
  const Plan plan = plan_of(settings.size);
  for (const RegisteredCase* each : selected) {
    auto* benchmark = benchmark::RegisterBenchmark(
        each->name.c_str(), [each](benchmark::State& state) { run_guarded(*each, state); });
    benchmark->Unit(benchmark::kNanosecond)->ReportAggregatesOnly(false);
    if (each->kind == Kind::kWork) {
      benchmark->Iterations(1)->UseRealTime()->Repetitions(1);
      continue;
    }
    if (each->kind == Kind::kLoad) {
      // One load run is a sample by itself; its repetitions are sessions, unless the user asks for
      // more here.
      benchmark->Iterations(1)->UseManualTime()->Repetitions(settings.repetitions.value_or(1));
      continue;
    }
    benchmark->Repetitions(settings.repetitions.value_or(plan.repetitions));
    if (settings.operations > 0) {
      benchmark->Iterations(static_cast<benchmark::IterationCount>(settings.operations));
    } else {
      // Zero would mean "not set" to Google Benchmark, and its default is half a second.
      benchmark->MinTime(std::max(settings.min_time.value_or(plan.min_time), 1e-9));
    }
    if (each->options.resource != Resource::kCpu) benchmark->UseRealTime();
  }
}

}  // namespace plimsoll::bench
