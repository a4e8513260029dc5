#include "bench/harness/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "lib/core/nearest.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::array kOwnFlags{"--plimsoll_size", "--plimsoll_ops",  "--plimsoll_seed",
                               "--plimsoll_list", "--plimsoll_help", "--help"};

// Read here and never by Google Benchmark, so that names, files and exit codes are ours.
constexpr std::array kTakenFlags{"--benchmark_filter",      "--benchmark_out",
                                 "--benchmark_out_format",  "--benchmark_format",
                                 "--benchmark_list_tests",  "--benchmark_min_time",
                                 "--benchmark_repetitions", "--benchmark_color"};

// Refused, each with its reason.
constexpr std::array<std::array<const char*, 2>, 2> kRefusedFlags{{
    {"--benchmark_report_aggregates_only",
     "aggregates alone cannot be judged; the table folds repetitions by itself"},
    {"--benchmark_time_unit", "the file is always in ns, and the table picks its units by itself"},
}};

constexpr std::array kPassedFlags{"--benchmark_enable_random_interleaving",
                                  "--benchmark_display_aggregates_only",
                                  "--benchmark_counters_tabular",
                                  "--benchmark_perf_counters",
                                  "--benchmark_context",
                                  "--benchmark_min_warmup_time",
                                  "--benchmark_dry_run",
                                  "--v"};

/// More is a slip of the hand: it would run for days, or not fit into Google Benchmark's counters.
constexpr std::uint64_t kMostOperations = 1'000'000'000;

struct Flag {
  std::string name;
  std::optional<std::string> value;
};

Flag split(const std::string& argument) {
  const auto equals = argument.find('=');
  if (equals == std::string::npos) return {argument, std::nullopt};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

bool contains(std::span<const char* const> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> all_flags() {
  std::vector<std::string> flags(kOwnFlags.begin(), kOwnFlags.end());
  flags.insert(flags.end(), kTakenFlags.begin(), kTakenFlags.end());
  flags.insert(flags.end(), kPassedFlags.begin(), kPassedFlags.end());
  return flags;
}

/// "; did you mean 'x'?", or a pointer to the list where nothing is near.
std::string suggestion(const std::string& seen, std::span<const std::string> valid,
                       std::string_view otherwise) {
  const auto near = nearest(seen, valid);
  return near ? fmt::format("; did you mean '{}'?", *near) : fmt::format("; {}", otherwise);
}

tl::unexpected<Error> bad_value(const std::string& where, const std::string& value,
                                std::string_view expected) {
  return fail(Errc::kInvalidArgument, fmt::format("{}: '{}' is not {}", where, value, expected));
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Size> parse_size(const std::string& where, const std::string& value) {
  const std::vector<std::string> valid{"smoke", "short", "full"};
  const auto found = std::find(valid.begin(), valid.end(), value);
  if (found == valid.end()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: '{}' is not a size{}", where, value,
                            suggestion(value, valid, "sizes are smoke, short and full")));
  }
  return static_cast<Size>(found - valid.begin());
}

Result<bool> parse_bool(const Flag& flag) {
  const std::string value = flag.value.value_or("true");
  for (const char* yes : {"true", "1", "yes", "on", "t", "y"}) {
    if (value == yes) return true;
  }
  for (const char* no : {"false", "0", "no", "off", "f", "n"}) {
    if (value == no) return false;
  }
  return bad_value(flag.name, value, "true or false");
}

/// Google Benchmark's three spellings: "0.5", "0.5s" and, for a fixed count, "100x".
Result<void> read_min_time(const Flag& flag, Settings& settings) {
  std::string text = flag.value.value_or("");
  if (text.ends_with('x')) {
    const auto count = parse<std::uint64_t>(std::string_view(text).substr(0, text.size() - 1));
    if (!count || *count == 0 || *count > kMostOperations) {
      return bad_value(flag.name, text, "a count of iterations from 1x to 1000000000x");
    }
    settings.operations = *count;
    return {};
  }
  if (text.ends_with('s')) text.pop_back();
  const auto seconds = parse<double>(text);
  if (!seconds || !(*seconds >= 0 && *seconds <= 86400)) {
    return bad_value(flag.name, flag.value.value_or(""), "seconds between 0 and 86400, e.g. 0.5");
  }
  settings.min_time = *seconds;
  return {};
}

Result<void> read_format(const Flag& flag, Settings& settings) {
  const std::string value = flag.value.value_or("");
  const bool to_file = flag.name == "--benchmark_out_format";
  if (value == "csv") {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: csv has no place for what we add to a row; use json", flag.name));
  }
  if (value != "json" && (to_file || value != "console")) {
    return bad_value(flag.name, value, to_file ? "json" : "console or json");
  }
  if (!to_file) settings.json_to_stdout = value == "json";
  return {};
}

Result<void> read_colour(const Flag& flag, Settings& settings) {
  if (flag.value == "auto") {
    settings.colour = Colour::kAuto;
    return {};
  }
  const auto on = parse_bool(flag);
  if (!on) return bad_value(flag.name, flag.value.value_or(""), "auto, true or false");
  settings.colour = *on ? Colour::kAlways : Colour::kNever;
  return {};
}

Result<void> read_taken(const Flag& flag, Settings& settings) {
  const std::string value = flag.value.value_or("");
  if (flag.name == "--benchmark_filter") {
    settings.filter = value;
  } else if (flag.name == "--benchmark_out") {
    settings.out = value;
  } else if (flag.name == "--benchmark_list_tests") {
    const auto list = parse_bool(flag);
    if (!list) return fail(list.error());
    settings.list = settings.list || *list;
  } else if (flag.name == "--benchmark_min_time") {
    return read_min_time(flag, settings);
  } else if (flag.name == "--benchmark_repetitions") {
    const auto count = parse<int>(value);
    if (!count || *count < 1 || *count > 10000) {
      return bad_value(flag.name, value, "a count from 1 to 10000");
    }
    settings.repetitions = *count;
  } else if (flag.name == "--benchmark_color") {
    return read_colour(flag, settings);
  } else {
    return read_format(flag, settings);
  }
  return {};
}

Result<void> read_own(const Flag& flag, Settings& settings) {
  const std::string value = flag.value.value_or("");
  if (flag.name == "--plimsoll_size") {
    const auto parsed = parse_size(flag.name, value);
    if (!parsed) return fail(parsed.error());
    settings.size = *parsed;
  } else if (flag.name == "--plimsoll_ops") {
    const auto count = parse<std::uint64_t>(value);
    if (!count || *count == 0 || *count > kMostOperations) {
      return bad_value(flag.name, value, "a count from 1 to 1000000000");
    }
    settings.operations = *count;
  } else if (flag.name == "--plimsoll_seed") {
    const auto parsed = parse<std::uint64_t>(value);
    if (!parsed) return bad_value(flag.name, value, "a seed from 0 to 2^64-1");
    settings.seed = *parsed;
  } else {
    const auto on = parse_bool(flag);
    if (!on) return fail(on.error());
    bool& target = flag.name == "--plimsoll_list" ? settings.list : settings.help;
    target = *on;
  }
  return {};
}

Result<void> read_flag(const std::string& argument, Settings& settings) {
  const Flag flag = split(argument);
  if (contains(kOwnFlags, flag.name)) return read_own(flag, settings);
  if (contains(kTakenFlags, flag.name)) return read_taken(flag, settings);
  for (const auto& [refused, reason] : kRefusedFlags) {
    if (flag.name == refused) {
      return fail(Errc::kInvalidArgument, fmt::format("{} is refused: {}", refused, reason));
    }
  }
  if (contains(kPassedFlags, flag.name)) {
    settings.passed_on.push_back(argument);
    return {};
  }
  const auto flags = all_flags();
  return fail(Errc::kInvalidArgument,
              fmt::format("unknown flag '{}'{}", flag.name,
                          suggestion(flag.name, flags, "--plimsoll_help lists them")));
}

/// BENCHMARK_OUT and its kind are defaults of the flags of the same name.
Result<void> read_environment(const Environment& environment, Settings& settings) {
  if (const auto value = environment("PLIMSOLL_SIZE"); value && !value->empty()) {
    const auto parsed = parse_size("PLIMSOLL_SIZE", *value);
    if (!parsed) return fail(parsed.error());
    settings.size = *parsed;
  }
  for (const std::string flag : kTakenFlags) {
    std::string variable = flag.substr(2);
    std::transform(variable.begin(), variable.end(), variable.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    const auto value = environment(variable);
    if (!value) continue;
    const auto read = read_taken({flag, *value}, settings);
    if (!read)
      return fail(Errc::kInvalidArgument,
                  fmt::format("{} (as {})", read.error().message, variable));
  }
  return {};
}

Result<void> check_together(const Settings& settings) {
  if (settings.size == Size::kSmoke && (!settings.out.empty() || settings.json_to_stdout)) {
    return fail(Errc::kInvalidArgument,
                "size smoke only proves that the cases work and writes no numbers; leave "
                "--benchmark_out and "
                "--benchmark_format=json out, or use --plimsoll_size=short");
  }
  if (settings.operations > 0 && settings.min_time) {
    return fail(Errc::kInvalidArgument,
                "--plimsoll_ops fixes the count of operations, which --benchmark_min_time "
                "contradicts; use one");
  }
  return {};
}

Settings& current() noexcept {
  static Settings settings;
  return settings;
}

}  // namespace

std::string_view name(Size size) noexcept {
  constexpr std::array<std::string_view, 3> kNames{"smoke", "short", "full"};
  return kNames[static_cast<std::size_t>(size)];
}

Environment process_environment() {
  return [](const std::string& variable) -> std::optional<std::string> {
    const char* value = std::getenv(variable.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<Settings> read_settings(std::span<const std::string> arguments,
                               const Environment& environment) {
  Settings settings;
  if (const auto read = read_environment(environment, settings); !read) return fail(read.error());
  for (const std::string& argument : arguments) {
    if (const auto read = read_flag(argument, settings); !read) return fail(read.error());
  }
  if (const auto checked = check_together(settings); !checked) return fail(checked.error());
  return settings;
}

bool gate_is_closed(const Environment& environment) {
  return environment("PLIMSOLL_GATED") == "1" && environment("PLIMSOLL_BENCH") != "1";
}

std::string usage(std::string_view program) {
  return fmt::format(
      "Usage: {} [flags]\n\n"
      "  --plimsoll_size=smoke|short|full  how much is measured (or PLIMSOLL_SIZE; default short)\n"
      "  --plimsoll_ops=N                  exactly N operations a load case, N iterations a "
      "repetition of the others\n"
      "  --plimsoll_seed=N                 seed of every random input (default 1)\n"
      "  --plimsoll_list                   print the names of the cases that the filter selects\n"
      "  --benchmark_filter=REGEX          only cases whose name matches; -REGEX: only the others\n"
      "  --benchmark_out=FILE              write the results as JSON (docs/json.md)\n"
      "  --benchmark_format=console|json   what stdout gets\n"
      "  --benchmark_min_time=SECONDS      at least so long a repetition, instead of the size's "
      "own\n"
      "  --benchmark_repetitions=N         so many repetitions a case, instead of the size's own\n"
      "  --benchmark_color=auto|true|false colours on the terminal\n\n"
      "Other flags of Google Benchmark are passed on to it.\n"
      "Exit: 0 all well; 1 a case failed, an invariant broke or nothing ran; 2 bad usage; 77 the "
      "gate is closed\n"
      "(under ctest without PLIMSOLL_BENCH=1); 128+n ended by signal n, with the rows so far in "
      "the file.\n",
      program);
}

const Settings& settings() noexcept { return current(); }
void use_settings(Settings settings) { current() = std::move(settings); }

}  // namespace plimsoll::bench
