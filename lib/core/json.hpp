#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

/// The operations of nlohmann::json that cost the compiler most, instantiated once.
namespace plimsoll {

/// Throws nlohmann::json::parse_error, whose `byte` is the place counted from 1. A caller that
/// reads members catches nlohmann::json::exception anyway.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

/// A discarded value (`is_discarded`, and of no other type) where the text is not JSON.
[[nodiscard]] nlohmann::json try_parse_json(std::string_view text);

/// On one line, or with `indent` spaces a level. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(const nlohmann::json& value, int indent = -1);
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

}  // namespace plimsoll
