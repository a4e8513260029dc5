#include "compare/read/bare_tokens.hpp"

#include <array>
#include <cstddef>
#include <limits>

namespace plimsoll::compare {
namespace {

// The marker of a token of n bytes is a quote, one of these, DEL up to the length, a quote. DEL may
// stand in a JSON string and stands in no sensible one.
constexpr char kNanMark = 'N';
constexpr char kInfinityMark = 'I';
constexpr char kNegativeMark = '-';
constexpr char kFill = '\x7f';

struct Token {
  std::string_view spelling;
  char mark;
};
// "-nan" is a NaN like any other. Longer spellings first: "inf" begins "infinity".
constexpr std::array kTokens = {
    Token{"-infinity", kNegativeMark}, Token{"infinity", kInfinityMark},
    Token{"-inf", kNegativeMark},      Token{"-nan", kNanMark},
    Token{"inf", kInfinityMark},       Token{"nan", kNanMark},
};

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool starts_with_ignoring_case(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lower(text[i]) != word[i]) return false;
  }
  return true;
}

/// The index behind the string that starts with the quote at `open`.
std::size_t skip_string(std::string_view text, std::size_t open) {
  std::size_t at = open + 1;
  while (at < text.size()) {
    const std::size_t stop = text.find_first_of("\"\\", at);
    if (stop == std::string_view::npos) return text.size();
    if (text[stop] == '"') return stop + 1;
    at = stop + 2;
  }
  return text.size();
}

bool may_start_token(char c) { return c == 'N' || c == 'n' || c == 'I' || c == 'i' || c == '-'; }

/// A word that goes on behind the token ("nano") is not the token; the parser will refuse it.
bool continues_word(char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || c == '_'; }

/// Writes the marker over the token at `at` and returns the index behind it, or `at` + 1.
std::size_t mark_token(std::string& text, std::size_t at) {
  const std::string_view rest = std::string_view(text).substr(at);
  for (const auto& [spelling, mark] : kTokens) {
    if (!starts_with_ignoring_case(rest, spelling)) continue;
    if (rest.size() > spelling.size() && continues_word(rest[spelling.size()])) break;
    const std::size_t end = at + spelling.size();
    for (std::size_t i = at; i < end; ++i) text[i] = kFill;
    text[at] = '"';
    text[at + 1] = mark;
    text[end - 1] = '"';
    return end;
  }
  return at + 1;
}

}  // namespace

void mark_bare_tokens(std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
    } else if (may_start_token(c)) {
      at = mark_token(text, at);
    } else {
      ++at;
    }
  }
}

std::optional<double> marked_number(std::string_view text) {
  if (text.empty() || text.substr(1).find_first_not_of(kFill) != std::string_view::npos) {
    return std::nullopt;
  }
  // Three-byte tokens leave room for the mark alone; a counter is never a string, so a string of
  // that one letter where a number belongs can only be the marker.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (text.front()) {
    case kNanMark:
      return std::numeric_limits<double>::quiet_NaN();
    case kInfinityMark:
      return kInfinity;
    case kNegativeMark:
      return -kInfinity;
    default:
      return std::nullopt;
  }
}

}  // namespace plimsoll::compare
