#pragma once

#include <benchmark/benchmark.h>

#include <string>

// What differs between Google Benchmark 1.7.1 (Debian 12) and 1.8 or later. Nothing else in the
// tree may know. Templates, so that the branch which names absent members is never compiled.
namespace plimsoll::bench::compat {

/// True when the run is not a measurement: 1.7 says `error_occurred`, 1.8 and later `skipped`.
template <class Run>
[[nodiscard]] bool is_errored(const Run& run) {
  if constexpr (requires { run.skipped; }) {
    return static_cast<int>(run.skipped) != 0;
  } else {
    return run.error_occurred;
  }
}

/// Why it is not one.
template <class Run>
[[nodiscard]] std::string error_message(const Run& run) {
  if constexpr (requires { run.skip_message; }) {
    return run.skip_message;
  } else {
    return run.error_message;
  }
}

/// The same question asked of a state while its body runs.
template <class State>
[[nodiscard]] bool has_error(const State& state) {
  if constexpr (requires { state.skipped(); }) {
    return state.skipped();
  } else {
    return state.error_occurred();
  }
}

}  // namespace plimsoll::bench::compat
