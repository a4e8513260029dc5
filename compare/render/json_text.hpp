#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::compare {

/// JSON for people and for diffs: one space a level, and whatever holds only plain values on one
/// line. Keys come in their order in `value` (sorted, for nlohmann::json), numbers in the shortest
/// form that reads back equal. Equal values give equal bytes. Ends with a newline.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value);

/// The same number, or null where JSON has none for it.
[[nodiscard]] nlohmann::ordered_json finite_or_null(double value);

}  // namespace plimsoll::compare
