#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace plimsoll {

/// A duration for people, three digits and a unit: "1.25 ms", "980 ns", "12.0 s".
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);

/// A byte count for people in binary units: "512 B", "1.50 KiB", "24.0 GiB".
[[nodiscard]] std::string format_bytes(double bytes);

/// A count or rate for people: "950", "12.3k", "4.50M".
[[nodiscard]] std::string format_count(double count);

}  // namespace plimsoll
