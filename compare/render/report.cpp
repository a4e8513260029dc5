#include "compare/render/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "lib/core/units.hpp"

namespace plimsoll::compare {
namespace {

/// Three significant digits without an exponent, as far as that is readable.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (value == std::floor(value) && size < 1e6) return fmt::format("{:.0f}", value);
  if (size >= 1e6) return format_count(value);
  if (size < 0.001) return fmt::format("{:.2e}", value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, size < 0.1 ? 4 : decimals);
}

std::string format_nanoseconds(double value) {
  if (std::abs(value) < 1000) return three_digits(value) + " ns";
  // Beyond 200 years nobody needs a unit.
  if (std::abs(value) > 6e18) return fmt::format("{:.2e} ns", value);
  return format_duration(std::chrono::nanoseconds(std::llround(value)));
}

}  // namespace

void add(const Decision& decision, Report& report) {
  report.findings.insert(report.findings.end(), decision.findings.begin(), decision.findings.end());
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     return std::tie(a.benchmark, a.metric, a.detail) <
                            std::tie(b.benchmark, b.metric, b.detail);
                   });
  report.exit = graver(report.exit, decision.exit);
}

std::string_view word(Exit exit) noexcept {
  switch (exit) {
    case Exit::kOk:
      return "ok";
    case Exit::kRegression:
      return "regression";
    case Exit::kUsage:
      return "usage";
    case Exit::kInconclusive:
      return "inconclusive";
    case Exit::kIncomplete:
      return "incomplete";
    case Exit::kBroken:
      return "broken";
  }
  return "?";
}

std::string format_value(double value, std::string_view unit) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (unit == "ns") return format_nanoseconds(value);
  if (unit == "us") return format_nanoseconds(value * 1e3);
  if (unit == "ms") return format_nanoseconds(value * 1e6);
  if (unit == "s") return format_nanoseconds(value * 1e9);
  if (unit == "1/s") return format_count(value) + "/s";
  if (unit == "B/s") return format_bytes(value) + "/s";
  if (unit == "1" || unit.empty()) return three_digits(value);
  if (unit == "1/op") return three_digits(value) + "/op";
  return three_digits(value) + " " + std::string(unit);
}

}  // namespace plimsoll::compare
