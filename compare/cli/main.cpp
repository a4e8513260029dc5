// plimsoll-compare: holds benchmark results against earlier ones. See docs/compare.md.
#include <fmt/format.h>

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "compare/ab/cli.hpp"
#include "compare/cli/verbs.hpp"
#include "compare/one_of.hpp"
#include "compare/print.hpp"
#include "lib/core/nearest.hpp"

namespace plimsoll::compare {

int usage_error(std::string_view verb, std::string_view message) {
  std::string line(message);
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  print_error("plimsoll-compare{}{}: {}\n", verb.empty() ? "" : " ", verb, line);
  return 2;
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0');
}

namespace {

struct Options {
  CheckOptions check;
  RecordOptions record;
  ShowOptions show;
  MergeOptions merge;
  AbCommand ab;
};

void add_check(CLI::App& app, CheckOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "check", "Hold results against the baselines, or two result files against each other");
  verb->add_option("FILES", options.files,
                   "NEW...: result files and directories of them; or OLD NEW")
      ->required();
  verb->add_option("--baseline", options.baselines,
                   "A tree of baselines, a baseline file, or an old result file; may be repeated "
                   "(default: baselines/)")
      ->allow_extra_args(false);
  verb->add_option("--tree", options.tree,
                   "The build tree that made NEW (default: the one that this program is in)");
  CLI::Option* tree =
      verb->add_option("--base-tree", options.base_tree,
                       "Confirm suspects against the benchmarks of this build tree");
  verb->add_option("--base-rev", options.base_rev,
                   "Confirm suspects against this git revision, built when needed")
      ->excludes(tree);
  verb->add_option("--ab", options.ab,
                   "auto: confirm suspects by fresh interleaved pairs; never: leave them suspects")
      ->check(one_of({"auto", "never"}))
      ->capture_default_str();
  verb->add_option("--json", options.json, "Write every finding and its numbers to this file");
  verb->add_option("--retired", options.retired,
                   "Benchmarks that may be missing, one a line (default: retired beside the "
                   "baselines)");
  verb->add_option(
          "--metric", options.metrics,
          "NAME=lower[:PERCENT], NAME=higher[:PERCENT] or NAME=exact[:PERCENT]: judge this "
          "metric so; PERCENT is the change that is none; may be repeated")
      ->allow_extra_args(false);
  verb->add_flag("--interleaved", options.interleaved,
                 "The repetitions in the files were interleaved, so that ten a side are a test");
  verb->add_flag("--all", options.all,
                 "Show every finding: what did not change, and rates that repeat their clock");
}

void add_others(CLI::App& app, Options& options) {
  CLI::App* record = app.add_subcommand("record", "Add VALID results to the baselines");
  record->add_option("NEW", options.record.files, "Result files and directories of them")
      ->required();
  record->add_option("--to", options.record.to, "The tree of baselines")->capture_default_str();
  CLI::App* show = app.add_subcommand("show", "Print what files hold");
  show->add_option("FILES", options.show.files, "Result and baseline files, and directories")
      ->required();
  CLI::App* merge = app.add_subcommand("merge", "Make one result file of several sessions");
  merge->add_option("FILES", options.merge.files, "Result files and directories of them")
      ->required();
  merge->add_option("--out,-o", options.merge.out, "The file to write (default: standard output)");
}

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> names_of_flags(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// What the parser could not place, in words that name the nearest valid one.
int unknown_word(const CLI::App& app) {
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (!verb->parsed() || verb->remaining().empty()) continue;
    const std::string word = verb->remaining().front();
    if (!word.starts_with("-")) {
      return usage_error(verb->get_name(), fmt::format("one argument too many: '{}'", word));
    }
    return usage_error(verb->get_name(),
                       fmt::format("unknown flag '{}'; nearest: {}", word,
                                   nearest(word, names_of_flags(*verb)).value_or("--help")));
  }
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) return 0;
  if (words.front().starts_with("-")) {
    return usage_error("", fmt::format("unknown flag '{}'; nearest: {}", words.front(),
                                       nearest(words.front(), names_of_flags(app)).value_or("")));
  }
  return usage_error("", fmt::format("unknown verb '{}'; nearest: {}", words.front(),
                                     nearest(words.front(), names_of_verbs(app)).value_or("")));
}

std::string parsed_verb(const CLI::App& app) {
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->parsed()) return verb->get_name();
  }
  return {};
}

int run(int argc, char** argv) {
  CLI::App app{
      "Holds benchmark results against earlier ones.\n"
      "Exit: 0 ok, 1 confirmed regression, 2 usage, 3 inconclusive, 4 incomplete, 5 "
      "invariant or exact counter broken"};
  app.name("plimsoll-compare");
  Options options;
  add_check(app, options.check);
  add_others(app, options);
  add_ab_verb(app, options.ab);
  app.allow_extras();
  for (CLI::App* verb : app.get_subcommands({})) verb->allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help
  } catch (const CLI::ParseError& error) {
    // A mistyped flag may be why something else seems to be missing; it is the better message.
    if (const int code = unknown_word(app); code != 0) return code;
    return usage_error(parsed_verb(app), error.what());
  }
  if (const int code = unknown_word(app); code != 0) return code;
  const std::string verb = parsed_verb(app);
  if (verb == "check") return check_main(options.check);
  if (verb == "record") return record_main(options.record);
  if (verb == "show") return show_main(options.show);
  if (verb == "merge") return merge_main(options.merge);
  if (verb == "ab") return ab_main(options.ab);
  return usage_error("", fmt::format("no verb; one of: {}", fmt::join(names_of_verbs(app), ", ")));
}

}  // namespace
}  // namespace plimsoll::compare

int main(int argc, char** argv) {
  try {
    return plimsoll::compare::run(argc, argv);
  } catch (const std::exception& error) {
    // Nothing of ours throws; this is the memory that ran out, or a fault of a library.
    return plimsoll::compare::usage_error("", error.what());
  }
}
