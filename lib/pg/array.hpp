#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::pg {

/// A one-dimensional array in PostgreSQL's text form, as a parameter for `$1::text[]` and the like:
/// one parameter and one statement text for any number of rows.
///
/// Every element is quoted, so any text is safe in it and comes back as it was; an empty text is
/// not NULL. bytea goes as its own text form, `\x6162`. Cost: one append an element.
class ArrayText {
 public:
  void add(std::optional<std::string_view> element);

  /// `{}` when nothing was added. The object is then empty again.
  [[nodiscard]] std::string take();

 private:
  std::string text_;
};

}  // namespace plimsoll::pg
