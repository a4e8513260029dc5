#include "lib/pg/sqlstate.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>

namespace plimsoll::pg {
namespace {

struct Rule {
  std::string_view prefix;
  Errc code;
};

// The first prefix that matches decides.
constexpr std::array kRules{
    Rule{"08P01", Errc::kProtocol},    Rule{"08", Errc::kUnavailable},
    Rule{"57P01", Errc::kUnavailable}, Rule{"57P02", Errc::kUnavailable},
    Rule{"57P03", Errc::kUnavailable}, Rule{"57P04", Errc::kUnavailable},
    Rule{"57P05", Errc::kUnavailable}, Rule{"25P03", Errc::kUnavailable},
    Rule{"57014", Errc::kCancelled},   Rule{"40", Errc::kConflict},
    Rule{"23505", Errc::kConflict},    Rule{"23P01", Errc::kConflict},
    Rule{"55P03", Errc::kConflict},    Rule{"55006", Errc::kConflict},
    Rule{"53", Errc::kBusy},           Rule{"28", Errc::kRefused},
    Rule{"42501", Errc::kRefused},     Rule{"3D000", Errc::kNotFound},
    Rule{"XX001", Errc::kCorrupt},     Rule{"XX002", Errc::kCorrupt},
    Rule{"58", Errc::kInternal},       Rule{"F0", Errc::kInternal},
    Rule{"XX", Errc::kInternal},
};

constexpr bool is_state_character(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
}

std::string_view field(const pg_result* result, int code) noexcept {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? std::string_view{} : std::string_view(text);
}

// Finds "FATAL:  28P01: password ..." whatever language the severity is in: five state characters
// between two blanks and a colon. Of several (one a host) the last one counts.
std::string_view find_sqlstate(std::string_view text) noexcept {
  constexpr std::string_view kBefore = ":  ";
  std::string_view found;
  for (auto at = text.find(kBefore); at != std::string_view::npos;
       at = text.find(kBefore, at + 1)) {
    const auto state = text.substr(at + kBefore.size(), 5);
    const auto after = text.substr(std::min(text.size(), at + kBefore.size() + 5), 2);
    if (state.size() == 5 && after == ": " && std::ranges::all_of(state, is_state_character)) {
      found = state;
    }
  }
  return found;
}

}  // namespace

Errc errc_of_sqlstate(std::string_view sqlstate) noexcept {
  if (sqlstate.size() != 5 || !std::ranges::all_of(sqlstate, is_state_character)) {
    return Errc::kProtocol;
  }
  const auto* rule = std::ranges::find_if(
      kRules, [&](const Rule& candidate) { return sqlstate.starts_with(candidate.prefix); });
  return rule == kRules.end() ? Errc::kRejected : rule->code;
}

std::string one_line(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::string line;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    part.remove_prefix(std::min(part.find_first_not_of(kBlank), part.size()));
    while (!part.empty() && (kBlank.find(part.back()) != std::string_view::npos)) {
      part.remove_suffix(1);
    }
    if (part.empty()) continue;
    if (!line.empty()) line += "; ";
    line += part;
  }
  return line;
}

Error error_of_result(const pg_result* result) {
  const auto sqlstate = field(result, PG_DIAG_SQLSTATE);
  if (sqlstate.empty()) {
    auto message = one_line(PQresultErrorMessage(result));
    if (message.empty()) message = "the connection to the server was lost";
    return {Errc::kUnavailable, std::move(message), {}};
  }
  auto message = one_line(field(result, PG_DIAG_MESSAGE_PRIMARY));
  const auto position = field(result, PG_DIAG_STATEMENT_POSITION);
  if (!position.empty()) message.append(" (at character ").append(position).append(")");
  return {errc_of_sqlstate(sqlstate), std::move(message), std::string(sqlstate)};
}

Error error_of_connect(std::string_view text, bool needs_password) {
  const auto sqlstate = find_sqlstate(text);
  const auto code = !sqlstate.empty() ? errc_of_sqlstate(sqlstate)
                    : needs_password  ? Errc::kRefused
                                      : Errc::kUnavailable;
  std::string copy(sqlstate);
  // The source position of the server's C code that VERBOSE adds helps nobody here.
  auto message = one_line(text.substr(0, text.find("\nLOCATION:")));
  if (message.empty()) message = "the server closed the connection during log-in";
  return {code, std::move(message), std::move(copy)};
}

}  // namespace plimsoll::pg
