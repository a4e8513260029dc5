#include "lib/core/redis_url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace plimsoll {
namespace {

constexpr std::string_view kTcp = "redis://";
constexpr std::string_view kUnix = "unix://";
constexpr std::string_view kHidden = "***";

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// nullopt when a % is not followed by two hexadecimal digits, or a NUL comes out.
std::optional<std::string> decode(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    plain += c;
  }
  return plain;
}

/// What may stand unencoded anywhere in a URL; `also` adds to it.
std::string encode(std::string_view text, std::string_view also = {}) {
  constexpr std::string_view kPlain = "-._~";
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || kPlain.find(c) != std::string_view::npos ||
                          also.find(c) != std::string_view::npos;
    if (is_plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

/// The whole text as a number in [0, limit].
std::optional<int> number(std::string_view text, int limit) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  return is_whole && value >= 0 && value <= limit ? std::optional(value) : std::nullopt;
}

constexpr int kMaxPort = 65535;
constexpr int kMaxDatabase = 1'000'000;  // Redis' own limit lies far below.

/// Takes a URL apart from left to right. Every step says what is wrong, or nothing.
class Parser {
 public:
  Parser(std::string_view text, RedisUrl& url) : rest_(text), url_(url) {}

  std::string parse();

 private:
  std::string parse_user(std::string_view user);
  std::string parse_place(std::string_view place);
  std::string parse_path(std::string_view path);
  std::string parse_parameters(std::string_view parameters);
  std::string set_database(std::string_view text);

  std::string_view rest_;
  RedisUrl& url_;
  bool is_unix_ = false;
};

std::string Parser::parse() {
  is_unix_ = rest_.starts_with(kUnix);
  if (rest_.starts_with("rediss://")) return "asks for TLS, which this client does not speak";
  if (!is_redis_url(rest_)) return "begins neither with redis:// nor with unix://";
  rest_.remove_prefix(is_unix_ ? kUnix.size() : kTcp.size());
  if (rest_.find('#') != std::string_view::npos) return "has a #, which is written %23";
  const auto end = std::min(rest_.find_first_of("/?"), rest_.size());
  std::string_view authority = rest_.substr(0, end);
  std::string_view path = rest_.substr(end);
  // With a stray @ the rest of a password would be read as a host or a path, and be shown.
  const auto at = authority.rfind('@');
  const bool is_stray = path.find('@') != std::string_view::npos ||
                        (at != std::string_view::npos && authority.find('@') != at);
  if (is_stray) {
    return "has an @ that does not end the user's part: in a user name, a password or a path "
           "write %40 for @, %2F for /, %3F for ?";
  }
  if (at != std::string_view::npos) {
    if (auto wrong = parse_user(authority.substr(0, at)); !wrong.empty()) return wrong;
    authority.remove_prefix(at + 1);
  }
  std::string_view parameters;
  if (const auto query = path.find('?'); query != std::string_view::npos) {
    parameters = path.substr(query + 1);
    path = path.substr(0, query);
  }
  if (auto wrong = parse_place(authority); !wrong.empty()) return wrong;
  if (auto wrong = parse_path(path); !wrong.empty()) return wrong;
  return parse_parameters(parameters);
}

std::string Parser::parse_user(std::string_view user) {
  const auto colon = user.find(':');
  // Some clients read a lone word as the user, others as the password.
  if (colon == std::string_view::npos) {
    return "has a user's part without a colon: write user:password@ or :password@";
  }
  if (user.find(':', colon + 1) != std::string_view::npos) {
    return "has two colons in the user's part: in a user name or a password write %3A for :";
  }
  const auto name = decode(user.substr(0, colon));
  const auto password = decode(user.substr(colon + 1));
  if (!name || !password) return "has a % in the user's part that is no %XX: write %25 for %";
  url_.user = *name;
  url_.password = *password;
  return {};
}

std::string Parser::parse_place(std::string_view place) {
  if (is_unix_) return place.empty() ? "" : "has a host; a Unix socket is unix:///path/to.sock";
  std::string_view host = place;
  std::string_view port;
  if (place.starts_with('[')) {
    const auto close = place.find(']');
    if (close == std::string_view::npos) return "has a [ without a ]";
    host = place.substr(1, close - 1);
    port = place.substr(close + 1);
    if (!port.empty() && !port.starts_with(':')) return "has something between ] and the port";
  } else if (const auto colon = place.find(':'); colon != std::string_view::npos) {
    host = place.substr(0, colon);
    port = place.substr(colon);
  }
  const auto decoded = decode(host);
  if (!decoded || decoded->empty()) return "names no host";
  url_.host = *decoded;
  if (port.empty()) return {};
  const auto value = number(port.substr(1), kMaxPort);
  // Not quoted: what stands here may be the end of a password with a / in it.
  if (!value || *value == 0) return "has no port between 1 and 65535 behind the host's colon";
  url_.port = static_cast<std::uint16_t>(*value);
  return {};
}

std::string Parser::parse_path(std::string_view path) {
  if (is_unix_) {
    const auto decoded = decode(path);
    if (!decoded || decoded->size() < 2) return "names no path: write unix:///path/to.sock";
    url_.socket = *decoded;
    return {};
  }
  if (path.empty() || path == "/") return {};
  return set_database(path.substr(1));
}

std::string Parser::set_database(std::string_view text) {
  const auto value = number(text, kMaxDatabase);
  if (!value) return "has a database that is no number, such as 0";
  url_.database = *value;
  return {};
}

std::string Parser::parse_parameters(std::string_view parameters) {
  while (!parameters.empty()) {
    const auto end = std::min(parameters.find('&'), parameters.size());
    const auto parameter = parameters.substr(0, end);
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
    const auto equals = std::min(parameter.find('='), parameter.size());
    const auto name = parameter.substr(0, equals);
    const auto value = decode(parameter.substr(std::min(equals + 1, parameter.size())));
    if (!value) return "has a % in a parameter that is no %XX: write %25 for %";
    if (name == "db") {
      if (auto wrong = set_database(*value); !wrong.empty()) return wrong;
    } else if (name == "user") {
      url_.user = *value;
    } else if (name == "password") {
      url_.password = *value;
    } else {
      return "has a parameter that is none of db, user, password";
    }
  }
  return {};
}

}  // namespace

bool is_redis_url(std::string_view text) noexcept {
  return text.starts_with(kTcp) || text.starts_with(kUnix);
}

Result<RedisUrl> RedisUrl::parse(std::string_view text, std::string_view source) {
  RedisUrl url;
  const std::string wrong = Parser(text, url).parse();
  if (!wrong.empty()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} {}; a Redis is named as redis://user:password@host:6379/0 or "
                            "unix:///path/to.sock?db=0",
                            source, wrong));
  }
  if (!url.user.empty() && url.password.empty()) {
    return fail(Errc::kInvalidArgument, fmt::format("{} names a user without a password", source));
  }
  return url;
}

std::string RedisUrl::text() const {
  const std::string who =
      password.empty() ? "" : fmt::format("{}:{}@", encode(user), encode(password));
  if (!socket.empty()) return fmt::format("unix://{}{}?db={}", who, encode(socket, "/"), database);
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("redis://{}{}:{}/{}", who, is_v6 ? "[" + host + "]" : encode(host), port,
                     database);
}

std::string RedisUrl::display() const {
  RedisUrl shown = *this;
  shown.password.clear();
  shown.user.clear();
  const auto place = shown.text();
  if (password.empty()) return place;
  const auto begin = place.find("://") + 3;
  return fmt::format("{}{}:{}@{}", place.substr(0, begin), encode(user), kHidden,
                     place.substr(begin));
}

std::string RedisUrl::scrub(std::string message) const {
  if (password.empty()) return message;
  for (auto at = message.find(password); at != std::string::npos;
       at = message.find(password, at + kHidden.size())) {
    message.replace(at, password.size(), kHidden);
  }
  return message;
}

}  // namespace plimsoll
