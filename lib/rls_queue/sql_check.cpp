#include "lib/rls_queue/sql_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace plimsoll::rls {
namespace {

bool is_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool begins_word(char c) noexcept {
  return (lower(c) >= 'a' && lower(c) <= 'z') || c == '_' || static_cast<unsigned char>(c) >= 0x80U;
}
bool goes_on_in_word(char c) noexcept { return begins_word(c) || is_digit(c) || c == '$'; }

bool equals(std::string_view word, std::string_view lower_case) noexcept {
  return std::ranges::equal(word, lower_case, {}, lower);
}

struct Token {
  enum class Kind { kEnd, kWord, kQuoted, kEscapedName, kOther } kind = Kind::kEnd;
  std::size_t begin = 0;
  std::string_view text{};  ///< Without the quotes.
};

/// PostgreSQL's tokens, as far as telling words from what only looks like words needs them. Text
/// that ends inside a literal or a comment ends there: the server will refuse it.
class Lexer {
 public:
  explicit Lexer(std::string_view text) noexcept : text_(text) {}

  Token next() noexcept {
    skip_blanks();
    if (at_ >= text_.size()) return {};
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (begins_word(c)) return word(begin);
    if (is_digit(c)) return number(begin);
    if (c == '"') return {Token::Kind::kQuoted, begin, quoted('"', false)};
    if (c == '\'') return {Token::Kind::kOther, begin, quoted('\'', false)};
    if (c == '$') return dollar(begin);
    ++at_;
    return {Token::Kind::kOther, begin, text_.substr(begin, 1)};
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const noexcept {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_blanks() noexcept {
    while (at_ < text_.size()) {
      if (is_space(peek())) {
        ++at_;
      } else if (peek() == '-' && peek(1) == '-') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (peek() == '/' && peek(1) == '*') {
        skip_comment();
      } else {
        return;
      }
    }
  }

  // Comments nest.
  void skip_comment() noexcept {
    std::size_t depth = 0;
    do {
      if (peek() == '/' && peek(1) == '*') {
        ++depth;
        at_ += 2;
      } else if (peek() == '*' && peek(1) == '/') {
        --depth;
        at_ += 2;
      } else {
        ++at_;
      }
    } while (depth > 0 && at_ < text_.size());
  }

  Token word(std::size_t begin) noexcept {
    while (at_ < text_.size() && goes_on_in_word(peek())) ++at_;
    const auto found = text_.substr(begin, at_ - begin);
    if (peek() == '\'') {
      const bool escapes = equals(found, "e");
      if (escapes || equals(found, "b") || equals(found, "x") || equals(found, "n")) {
        return {Token::Kind::kOther, begin, quoted('\'', escapes)};
      }
    }
    if (equals(found, "u") && peek() == '&' && (peek(1) == '"' || peek(1) == '\'')) {
      ++at_;
      const bool is_name = peek() == '"';
      const auto inside = quoted(peek(), false);
      return {is_name ? Token::Kind::kEscapedName : Token::Kind::kOther, begin, inside};
    }
    return {Token::Kind::kWord, begin, found};
  }

  // A word may follow at once: up to version 15 the server reads 1and as two tokens.
  Token number(std::size_t begin) noexcept {
    while (is_digit(peek()) || peek() == '.') ++at_;
    const bool is_signed = peek(1) == '+' || peek(1) == '-';
    if (lower(peek()) == 'e' && is_digit(peek(is_signed ? 2 : 1))) at_ += is_signed ? 2 : 1;
    while (is_digit(peek())) ++at_;
    return {Token::Kind::kOther, begin, text_.substr(begin, at_ - begin)};
  }

  // What stands between quotes; a doubled quote is one of the text.
  std::string_view quoted(char quote, bool escapes) noexcept {
    const std::size_t begin = ++at_;
    while (at_ < text_.size()) {
      if (escapes && peek() == '\\') {
        at_ += 2;
      } else if (peek() != quote) {
        ++at_;
      } else if (peek(1) == quote) {
        at_ += 2;
      } else {
        const auto inside = text_.substr(begin, at_ - begin);
        ++at_;
        return inside;
      }
    }
    at_ = text_.size();
    return text_.substr(std::min(begin, text_.size()));
  }

  // $1, or a literal between $tag$ and $tag$.
  Token dollar(std::size_t begin) noexcept {
    std::size_t end = begin + 1;
    while (end < text_.size() && goes_on_in_word(text_[end]) && text_[end] != '$') ++end;
    const bool is_literal = end < text_.size() && text_[end] == '$' && !is_digit(peek(1));
    if (!is_literal) {
      ++at_;
      return {Token::Kind::kOther, begin, text_.substr(begin, 1)};
    }
    const auto tag = text_.substr(begin, end + 1 - begin);
    const auto close = text_.find(tag, end + 1);
    at_ = close == std::string_view::npos ? text_.size() : close + tag.size();
    return {Token::Kind::kOther, begin, text_.substr(begin, at_ - begin)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::array<std::string_view, 8> kAllowed{"select", "insert", "update", "delete",
                                                   "merge",  "with",   "values", "table"};

tl::unexpected<Error> refuse(std::string_view seen) {
  constexpr std::size_t kShown = 40;
  return fail(
      Errc::kInvalidArgument,
      fmt::format("{} is refused: a job may SELECT, INSERT, UPDATE, DELETE, MERGE, or begin "
                  "with WITH, VALUES or TABLE; anything else could change the identity or "
                  "end the transaction",
                  seen.empty() ? "an empty statement" : seen.substr(0, kShown)));
}

}  // namespace

Result<std::size_t> check_sql(std::string_view sql) {
  using Kind = Token::Kind;
  Lexer lexer(sql);
  Token token = lexer.next();
  const std::size_t begin = token.begin;
  while (token.kind == Kind::kOther && token.text == "(") token = lexer.next();
  const bool is_allowed =
      token.kind == Kind::kWord &&
      std::ranges::any_of(kAllowed, [&](auto word) { return equals(token.text, word); });
  if (!is_allowed) return refuse(token.text);
  for (token = lexer.next(); token.kind != Kind::kEnd; token = lexer.next()) {
    const bool is_call = (token.kind == Kind::kWord && equals(token.text, "set_config")) ||
                         (token.kind == Kind::kQuoted && token.text == "set_config");
    if (is_call) {
      return fail(Errc::kInvalidArgument,
                  "a call of set_config is refused: the identity of a job is the one it was "
                  "submitted with");
    }
    if (token.kind == Kind::kEscapedName) {
      return fail(
          Errc::kInvalidArgument,
          "a name written as U&\"...\" is refused, since it could be any; write it plainly");
    }
  }
  return begin;
}

}  // namespace plimsoll::rls
