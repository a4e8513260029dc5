#include <string>

#include "lib/load/runner.hpp"

namespace plimsoll::load {

Outcome outcome_of(const Error& error, bool is_begun) {
  using Kind = Outcome::Kind;
  const std::string kind = error.sqlstate.empty() ? std::string(name(error.code)) : error.sqlstate;
  if (error.unsent && !is_begun) return {Kind::kFailed, 0, kind};
  switch (error.code) {
    case Errc::kBusy:
      return {Kind::kBusy, 0, kind};
    case Errc::kTimeout:
      return {Kind::kTimeout, 0, kind};
    case Errc::kUnavailable:
    case Errc::kCancelled:
      return {Kind::kIndeterminate, 0, kind};
    default:
      return {Kind::kFailed, 0, kind};
  }
}

}  // namespace plimsoll::load
