#pragma once

#include <string>

#include "compare/ab/ab.hpp"

namespace plimsoll::compare {

/// A table for people and one line that sums it up. Equal outcomes give equal bytes. Pure.
[[nodiscard]] std::string ab_text(const AbOutcome& outcome);

/// Every number that was measured and every verdict, as JSON (schema 1); equal outcomes give equal
/// bytes. A bound that is infinite is null. Pure.
[[nodiscard]] std::string ab_json(const AbOutcome& outcome);

/// 0 nothing is slower; 1 a confirmed regression; 3 undecided or inconclusive; 4 a sample failed or
/// a benchmark is missing. 1 goes before 4, 4 before 3. A null control that finds anything is 3:
/// the machine or the method cannot be believed.
[[nodiscard]] int ab_exit_code(const AbOutcome& outcome);

}  // namespace plimsoll::compare
