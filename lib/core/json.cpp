#include "lib/core/json.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll {

nlohmann::json parse_json(std::string_view text) { return nlohmann::json::parse(text); }

nlohmann::json try_parse_json(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

std::string json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace plimsoll
