#include "lib/pg/array.hpp"

#include <utility>

namespace plimsoll::pg {

void ArrayText::add(std::optional<std::string_view> element) {
  text_ += text_.empty() ? '{' : ',';
  if (!element) {
    text_ += "NULL";
    return;
  }
  text_ += '"';
  for (std::string_view rest = *element; !rest.empty();) {
    const auto special = rest.find_first_of("\"\\");
    text_ += rest.substr(0, special);
    if (special == std::string_view::npos) break;
    text_ += '\\';
    text_ += rest[special];
    rest.remove_prefix(special + 1);
  }
  text_ += '"';
}

std::string ArrayText::take() {
  if (text_.empty()) text_ += '{';
  text_ += '}';
  return std::exchange(text_, {});
}

}  // namespace plimsoll::pg
