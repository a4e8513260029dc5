#include "compare/render/table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace plimsoll::compare {
namespace {

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;  // Not a continuation byte.
  }));
}

}  // namespace

Table::Table(std::vector<std::string> header, std::size_t left) : left_(left) {
  rows_.push_back({std::move(header), ""});
}

void Table::add(std::vector<std::string> cells, std::string colour) {
  assert(cells.size() == rows_.front().cells.size());
  for (std::string& cell : cells) cell = printable(std::move(cell));
  rows_.push_back({std::move(cells), std::move(colour)});
}

std::string Table::text() const {
  const std::size_t columns = rows_.front().cells.size();
  std::vector<std::size_t> widths(columns, 0);
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], width(row.cells[i]));
  }
  std::string out;
  for (const Row& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string pad(widths[i] - width(row.cells[i]), ' ');
      const bool flush_left = i < left_ || i + 1 == columns;
      line += flush_left ? row.cells[i] + pad : pad + row.cells[i];
      if (i + 1 < columns) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += "  " + row.colour + line + (row.colour.empty() ? "" : "\x1b[0m") + "\n";
  }
  return out;
}

std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = '?';
  }
  return text;
}

}  // namespace plimsoll::compare
