#include "compare/ab/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "compare/ab/ab.hpp"
#include "compare/ab/progress_line.hpp"
#include "compare/ab/render.hpp"
#include "compare/history/baseline.hpp"
#include "compare/one_of.hpp"
#include "compare/print.hpp"

namespace plimsoll::compare {
namespace {

constexpr int kUsage = 2;
constexpr int kIncomplete = 4;

Result<std::map<std::string, std::string>> parse_environment(
    const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> environment;
  for (const std::string& pair : pairs) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(Errc::kInvalidArgument, fmt::format("'{}' is not NAME=VALUE", pair));
    }
    environment[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return environment;
}

Result<AbSide> side_of(const std::string& text, const std::vector<std::string>& environment,
                       const std::string& repository) {
  auto side = parse_side(text, repository);
  if (!side) return fail(side.error());
  auto parsed = parse_environment(environment);
  if (!parsed) return fail(parsed.error());
  side->environment = *parsed;
  return *side;
}

Result<AbRequest> request_of(const AbCommand& command) {
  if (command.null_control != command.fresh.empty()) {
    return fail(Errc::kInvalidArgument,
                command.null_control
                    ? "with --null-control the new side is a copy of BASE; leave NEW out"
                    : "NEW is missing: the build to hold against BASE");
  }
  AbRequest request;
  auto base = side_of(command.base, command.base_environment, command.repository);
  if (!base) return fail(base.error());
  request.base = *base;
  auto fresh = command.null_control
                   ? base
                   : side_of(command.fresh, command.fresh_environment, command.repository);
  if (!fresh) return fail(fresh.error());
  request.fresh = *fresh;
  request.filter = command.filter;
  request.size = command.size;
  request.policy.final_pairs = command.pairs;
  request.policy.first_pairs = std::min(request.policy.first_pairs, command.pairs);
  request.min_effect = command.min_effect_percent / 100;
  request.seed = command.seed;
  request.null_control = command.null_control;
  request.sample_limit = std::chrono::seconds(command.sample_limit_seconds);
  request.calm_budget = std::chrono::seconds(command.calm_budget_seconds);
  request.repository = command.repository;
  return request;
}

int fail_with(const Error& error) {
  print_error("plimsoll-compare ab: {}\n", error.message);
  return error.code == Errc::kInvalidArgument || error.code == Errc::kNotFound ? kUsage
                                                                               : kIncomplete;
}

}  // namespace

CLI::App* add_ab_verb(CLI::App& app, AbCommand& command) {
  CLI::App* verb =
      app.add_subcommand("ab", "Measure two builds in turns, now, and say what is slower");
  verb->add_option("BASE", command.base,
                   "What was: a benchmark binary, a build tree, or a git revision")
      ->required();
  verb->add_option("NEW", command.fresh, "What is to be judged: the same kinds");
  verb->add_option("--filter", command.filter,
                   "Only benchmarks whose name this extended regular expression finds");
  verb->add_option("--json", command.json, "Write every number and verdict to this file");
  verb->add_option("--size", command.size, "Size of our own binaries")
      ->check(one_of({"short", "full"}));
  verb->add_option("--pairs", command.pairs,
                   "Pairs at the last look (the first is at 12, or later in a large family)")
      ->check(CLI::Range(2, 60))
      ->capture_default_str();
  verb->add_option("--min-effect", command.min_effect_percent,
                   "Percent; less is no change (default: the metric's own)")
      ->check(CLI::Range(0.1, 1000.0));
  verb->add_option("--seed", command.seed, "Of the order of samples")->capture_default_str();
  verb->add_option("--base-env", command.base_environment,
                   "NAME=VALUE for BASE's processes only; may be repeated");
  verb->add_option("--new-env", command.fresh_environment,
                   "NAME=VALUE for NEW's processes only; may be repeated");
  verb->add_option("--sample-limit", command.sample_limit_seconds,
                   "Seconds until a sample process is killed")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  verb->add_option("--calm-budget", command.calm_budget_seconds,
                   "Seconds to spend on pairs during which the machine changed, in all")
      ->check(CLI::Range(0, 3600))
      ->capture_default_str();
  verb->add_option("--repo", command.repository, "The repository in which revisions are looked up")
      ->capture_default_str();
  verb->add_flag("--null-control", command.null_control,
                 "NEW is a byte copy of BASE: nothing may be found");
  return verb;
}

int ab_main(const AbCommand& command) {
  auto request = request_of(command);
  if (!request) return fail_with(request.error());
  Result<AbOutcome> outcome;
  {
    ProgressLine line("");
    request->progress = [&](const AbProgress& progress) { line.show(progress); };
    request->say = [&](const std::string& text) { line.say("ab: " + text); };
    outcome = run_ab(*request);
  }
  if (!outcome) return fail_with(outcome.error());
  if (!print(ab_text(*outcome))) {
    print_error("plimsoll-compare ab: standard output cannot be written\n");
    return kUsage;
  }
  if (!command.json.empty()) {
    if (auto written = replace_file(command.json, ab_json(*outcome)); !written) {
      print_error("plimsoll-compare ab: {}\n", written.error().message);
      return kUsage;
    }
  }
  return ab_exit_code(*outcome);
}

}  // namespace plimsoll::compare
