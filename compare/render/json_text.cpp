#include "compare/render/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "lib/core/json.hpp"

namespace plimsoll::compare {
namespace {

using Json = nlohmann::ordered_json;

bool is_plain(const Json& value) {
  return std::none_of(value.begin(), value.end(),
                      [](const Json& member) { return member.is_structured() && !member.empty(); });
}

/// Bytes that are no UTF-8 become U+FFFD: a name of someone else's must not stop the report.
std::string leaf_text(const Json& value) { return plimsoll::json_text(value); }

void write(const Json& value, std::size_t depth, std::string& out) {
  if (!value.is_structured()) {
    out += leaf_text(value);
    return;
  }
  const bool object = value.is_object();
  const bool one_line = is_plain(value);
  const auto break_line = [&](std::size_t level) {
    if (!one_line) out.append(1, '\n').append(level, ' ');
  };
  out += object ? '{' : '[';
  std::string_view separator;
  for (const auto& [key, member] : value.items()) {
    out += separator;
    separator = one_line ? ", " : ",";
    break_line(depth + 1);
    if (object) out += leaf_text(Json(key)) + ": ";
    write(member, depth + 1, out);
  }
  break_line(depth);
  out += object ? '}' : ']';
}

}  // namespace

std::string json_text(const Json& value) {
  std::string out;
  write(value, 0, out);
  out += '\n';
  return out;
}

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace plimsoll::compare
