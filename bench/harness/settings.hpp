#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::bench {

/// How much is measured. PLIMSOLL_SIZE or --plimsoll_size; `short` unless told.
enum class Size { kSmoke, kShort, kFull };

/// "smoke", "short" or "full".
[[nodiscard]] std::string_view name(Size size) noexcept;

enum class Colour { kAuto, kAlways, kNever };

/// Everything that a run's flags and environment say, checked.
struct Settings {
  Size size = Size::kShort;
  std::uint64_t operations =
      0;  ///< > 0: exactly so many operations (load) or iterations (cpu) a repetition.
  std::uint64_t seed = 1;
  std::string filter;  ///< POSIX extended, searched for in our names; a leading `-` inverts it.
  std::string out;     ///< The result file; empty for none.
  std::optional<double> min_time;  ///< Seconds, where the user gave them.
  std::optional<int> repetitions;  ///< Where the user gave them.
  Colour colour = Colour::kAuto;
  bool json_to_stdout = false;  ///< --benchmark_format=json
  bool list = false;
  bool help = false;
  std::vector<std::string> passed_on{};  ///< What Google Benchmark still has to read.
};

/// Reads one variable of the environment; nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

/// The process' own environment.
[[nodiscard]] Environment process_environment();

/// Reads flags (without the program's name) and what Google Benchmark would read from the
/// environment.
///
/// Errors: kInvalidArgument, one line that names what was seen and the nearest valid flag or value.
[[nodiscard]] Result<Settings> read_settings(std::span<const std::string> arguments,
                                             const Environment& environment);

/// True when ctest runs us (PLIMSOLL_GATED=1) and nobody opened the gate (PLIMSOLL_BENCH=1).
[[nodiscard]] bool gate_is_closed(const Environment& environment);

/// What --plimsoll_help prints.
[[nodiscard]] std::string usage(std::string_view program);

/// The settings of this process: defaults until `use_settings` was called, which main does once,
/// before any case is registered.
[[nodiscard]] const Settings& settings() noexcept;
void use_settings(Settings settings);

}  // namespace plimsoll::bench
