#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace plimsoll::compare {

/// What `plimsoll-compare ab` was asked.
struct AbCommand {
  std::string base;
  std::string fresh;
  std::string filter;
  std::string json;
  std::string size;
  std::string repository = ".";
  std::vector<std::string> base_environment;   ///< NAME=VALUE
  std::vector<std::string> fresh_environment;  ///< NAME=VALUE
  double min_effect_percent = 0;
  std::size_t pairs = 24;
  std::uint64_t seed = 1;
  int sample_limit_seconds = 120;
  int calm_budget_seconds = 120;
  bool null_control = false;
};

/// Adds the verb `ab` to the program's; parsing fills `command`, which must outlive `app`. Returns
/// the verb, which says by `parsed()` whether it was given.
CLI::App* add_ab_verb(CLI::App& app, AbCommand& command);

/// Runs it: the table to stdout, the JSON where it was asked for, a progress line to stderr when
/// that is a terminal. Returns the exit code: as ab_exit_code; 2 for what cannot be understood; 4
/// for what could not be run.
[[nodiscard]] int ab_main(const AbCommand& command);

}  // namespace plimsoll::compare
