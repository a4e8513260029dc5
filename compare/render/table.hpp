#pragma once

#include <string>
#include <vector>

namespace plimsoll::compare {

/// A table for the terminal: columns as wide as their widest cell, two spaces between them, the
/// first `left` columns flush left, the others flush right, except for the last, which is left.
/// Widths count characters, not bytes, of UTF-8.
class Table {
 public:
  /// `left`: how many columns are flush left.
  Table(std::vector<std::string> header, std::size_t left);

  /// A row with as many cells as the header. `colour` is an escape sequence for the row, or "".
  void add(std::vector<std::string> cells, std::string colour = "");

  [[nodiscard]] bool empty() const { return rows_.size() == 1; }
  [[nodiscard]] std::string text() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string colour;
  };
  std::vector<Row> rows_;
  std::size_t left_;
};

/// `text` without the control characters that a file may have smuggled into a name.
[[nodiscard]] std::string printable(std::string text);

}  // namespace plimsoll::compare
