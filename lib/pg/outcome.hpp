#pragma once

#include <string_view>

#include "lib/core/error.hpp"

namespace plimsoll::pg {

/// The SQLSTATE of an error after which it is not known whether the work was committed
/// ("transaction_resolution_unknown").
inline constexpr std::string_view kUnknownOutcome = "08007";

[[nodiscard]] inline bool is_outcome_unknown(const Error& error) noexcept {
  return error.sqlstate == kUnknownOutcome;
}

}  // namespace plimsoll::pg
