#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "compare/decide/verdict.hpp"
#include "compare/model.hpp"

namespace plimsoll::compare {

/// The figures of the gate. `reference`: measured false rates are in docs.
struct Policy {
  double outright = 0.50;             ///< Two files: red beyond this, whatever the sample count.
  double alpha = 0.01;                ///< Two files: the largest p that turns red.
  std::size_t test_sessions = 5;      ///< Two files: so many sessions a side can be tested, ...
  std::size_t test_repetitions = 10;  ///< ... or so many interleaved repetitions.
  std::size_t screen_sessions = 8;    ///< History: fewer recorded sessions cannot screen.
  std::size_t window = 20;            ///< History: the newest so many sessions are the baseline.
};

/// Everything that a decision depends on.
struct Question {
  enum class Kind {
    kHistory,  ///< `before` was recorded earlier; suspects may be re-measured in pairs.
    kPair,     ///< `before` and `after` are two sets of files.
  };
  Kind kind = Kind::kHistory;
  std::vector<Session> before;     ///< Oldest first. Times and exact counters compare with these.
  std::vector<Session> elsewhere;  ///< Other classes or settings: exact counters only.
  std::vector<Session> after;
  std::set<std::string, std::less<>> retired;
  std::vector<Confirmation> confirmations;
  bool interleaved = false;  ///< The caller knows that repetitions were interleaved.
  Policy policy;
};

struct Decision {
  std::vector<Finding> findings;  ///< By benchmark, then metric; those about files first.
  std::array<std::size_t, kVerdicts> counts{};
  Exit exit = Exit::kOk;
};

/// Decides: validity, then invariants and exact counters, then times. Pure: equal questions give
/// equal decisions; no clock, no files, no printing.
///
/// Called twice where suspects can be re-measured: without, then with their confirmations.
[[nodiscard]] Decision decide(const Question& question);

/// The benchmarks whose suspects fresh pairs could settle, in order of name, each once.
[[nodiscard]] std::vector<std::string> suspects(const Decision& decision);

}  // namespace plimsoll::compare
