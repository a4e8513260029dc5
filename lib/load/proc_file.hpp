#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::load {

/// The contents of a file of /proc, or nullopt: there a file may vanish between any two calls, and
/// that is not an error.
[[nodiscard]] std::optional<std::string> read_proc(const std::string& path);

/// The words of a line. The views point into it.
[[nodiscard]] std::vector<std::string_view> split_fields(std::string_view line);

/// A whole non-negative decimal number, or nullopt.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text);

/// The number after `key` in a file of lines `key: number ...`, or nullopt.
[[nodiscard]] std::optional<std::uint64_t> find_number(std::string_view text, std::string_view key);

/// The unit of the times in /proc.
[[nodiscard]] double ticks_per_second() noexcept;

}  // namespace plimsoll::load
