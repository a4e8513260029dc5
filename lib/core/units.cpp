#include "lib/core/units.hpp"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <string_view>

namespace plimsoll {
namespace {

struct Step {
  double size;
  std::string_view unit;
};

/// Three significant digits with the largest step that leaves at least 1. The steps descend.
std::string scale(double value, std::initializer_list<Step> steps, std::string_view base_unit) {
  for (const auto& [size, unit] : steps) {
    const double scaled = value / size;
    // 999.6 would print as "1000"; it belongs to the next unit up.
    if (std::abs(scaled) < 0.9995) continue;
    const int decimals = std::abs(scaled) < 9.995 ? 2 : std::abs(scaled) < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f}{}", scaled, decimals, unit);
  }
  const bool whole = value == std::floor(value);
  return fmt::format("{:.{}f}{}", value, whole ? 0 : 2, base_unit);
}

}  // namespace

std::string format_duration(std::chrono::nanoseconds duration) {
  const auto ns = static_cast<double>(duration.count());
  return scale(ns, {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1, " ns"}}, " ns");
}

std::string format_bytes(double bytes) {
  return scale(bytes, {{0x1p40, " TiB"}, {0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}},
               " B");
}

std::string format_count(double count) {
  return scale(count, {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}, "");
}

}  // namespace plimsoll
