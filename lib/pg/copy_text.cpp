#include "lib/pg/copy_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>

namespace plimsoll::pg {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
// What stands behind the backslash for each character that needs one.
constexpr auto kEscapes = [] {
  std::array<char, 256> letters{};
  letters['\b'] = 'b';
  letters['\f'] = 'f';
  letters['\n'] = 'n';
  letters['\r'] = 'r';
  letters['\t'] = 't';
  letters['\v'] = 'v';
  letters['\\'] = '\\';
  return letters;
}();
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;

tl::unexpected<Error> no_value(std::string_view text, std::string_view expected) {
  constexpr std::size_t kShown = 40;
  return fail(Errc::kProtocol, fmt::format("'{}{}' is no {}", text.substr(0, kShown),
                                           text.size() > kShown ? "..." : "", expected));
}

std::optional<std::uint8_t> nibble(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') return static_cast<std::uint8_t>(lower - 'a' + 10);
  return std::nullopt;
}

std::optional<std::uint8_t> byte(char high, char low) noexcept {
  const auto h = nibble(high);
  const auto l = nibble(low);
  if (!h || !l) return std::nullopt;
  return static_cast<std::uint8_t>(*h << 4 | *l);
}

void append_byte(std::string& out, std::uint8_t value) {
  out += kDigits[value >> 4];
  out += kDigits[value & 15];
}

// The Gregorian calendar, carried back before its invention, as PostgreSQL has it. Days count from
// 2000-03-01, the first day behind the leap day of a cycle of 400 years, so that a leap day is the
// last of its year, its century and its cycle. Year 0 is 1 BC.
struct Date {
  std::int64_t year;
  std::int64_t month;  ///< 1 to 12.
  std::int64_t day;    ///< From 1 on.
};
constexpr std::int64_t kFromJanuaryToMarch2000 = 31 + 29;
constexpr std::int64_t kDaysOfCycle = 146'097;

std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Of the month counted from March as 0: 31, 61, 92, ... days before it.
std::int64_t days_before_month(std::int64_t month) noexcept { return (153 * month + 2) / 5; }

std::int64_t days_of(const Date& date) noexcept {
  const std::int64_t from_march = (date.month + 9) % 12;
  const std::int64_t year = date.year - (date.month <= 2 ? 1 : 0) - 2000;
  const std::int64_t cycle = floor_div(year, 400);
  const std::int64_t of_cycle = year - cycle * 400;
  return cycle * kDaysOfCycle + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 +
         days_before_month(from_march) + date.day - 1 + kFromJanuaryToMarch2000;
}

Date date_of(std::int64_t days) noexcept {
  const std::int64_t from_march = days - kFromJanuaryToMarch2000;
  const std::int64_t cycle = floor_div(from_march, kDaysOfCycle);
  const std::int64_t day = from_march - cycle * kDaysOfCycle;
  // Leap days before this one, taken out, leave years of 365 days.
  const std::int64_t year = (day - day / 1460 + day / 36'524 - day / (kDaysOfCycle - 1)) / 365;
  const std::int64_t of_year = day - (365 * year + year / 4 - year / 100);
  const std::int64_t month = (5 * of_year + 2) / 153;
  return {2000 + cycle * 400 + year + (month >= 10 ? 1 : 0), (month + 2) % 12 + 1,
          of_year - days_before_month(month) + 1};
}

// Reads a text from left to right; what does not fit makes everything after it fail.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] std::int64_t number(std::size_t least, std::size_t most) noexcept {
    std::size_t size = 0;
    while (size < rest_.size() && size < most && rest_[size] >= '0' && rest_[size] <= '9') ++size;
    std::int64_t value = 0;
    if (size < least) is_good_ = false;
    std::from_chars(rest_.data(), rest_.data() + size, value);
    rest_.remove_prefix(size);
    return value;
  }
  [[nodiscard]] bool accept(std::string_view word) noexcept {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) noexcept { is_good_ = accept(word) && is_good_; }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }
  [[nodiscard]] bool is_at_end() const noexcept { return is_good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

std::int64_t scan_fraction(Scanner& scanner) noexcept {
  if (!scanner.accept(".")) return 0;
  const std::size_t before = scanner.left();
  std::int64_t value = scanner.number(1, 6);
  for (std::size_t digits = before - scanner.left(); digits < 6; ++digits) value *= 10;
  return value;
}

// In seconds east of Greenwich.
std::int64_t scan_offset(Scanner& scanner) noexcept {
  const bool is_west = scanner.accept("-");
  if (!is_west) scanner.expect("+");
  std::int64_t seconds = scanner.number(2, 2) * 3600;
  if (scanner.accept(":")) seconds += scanner.number(2, 2) * 60;
  if (scanner.accept(":")) seconds += scanner.number(2, 2);
  return is_west ? -seconds : seconds;
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  std::size_t plain = 0;  // What was not appended yet begins here.
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = kEscapes[static_cast<std::uint8_t>(text[at])];
    if (letter == 0) continue;
    out += text.substr(plain, at - plain);
    out += '\\';
    out += letter;
    plain = at + 1;
  }
  out += text.substr(plain);
}

std::size_t unescape(char* text, std::size_t size) noexcept {
  const auto* const first = static_cast<const char*>(std::memchr(text, '\\', size));
  if (first == nullptr) return size;
  auto to = static_cast<std::size_t>(first - text);
  for (std::size_t from = to; from < size; ++from) {
    char c = text[from];
    if (c == '\\' && from + 1 < size) {
      constexpr std::string_view kLetters = "bfnrtv";
      constexpr std::string_view kMeaning = "\b\f\n\r\t\v";
      c = text[++from];
      const auto letter = kLetters.find(c);
      if (letter != std::string_view::npos) c = kMeaning[letter];
    }
    text[to++] = c;
  }
  return to;
}

void append_hex(std::string& out, std::string_view bytes) {
  out += "\\x";
  for (const char c : bytes) append_byte(out, static_cast<std::uint8_t>(c));
}

Result<std::string> bytes_of_hex(std::string_view text) {
  constexpr std::string_view kExpected = "bytea in hex (set bytea_output = hex)";
  if (!text.starts_with("\\x") || text.size() % 2 != 0) return no_value(text, kExpected);
  std::string bytes;
  bytes.reserve(text.size() / 2 - 1);
  for (std::size_t at = 2; at < text.size(); at += 2) {
    const auto value = byte(text[at], text[at + 1]);
    if (!value) return no_value(text, kExpected);
    bytes += static_cast<char>(*value);
  }
  return bytes;
}

void append_timestamp(std::string& out, Timestamp time) {
  if (time == Timestamp::infinity()) {
    out += "infinity";
    return;
  }
  if (time == Timestamp::minus_infinity()) {
    out += "-infinity";
    return;
  }
  const std::int64_t days = floor_div(time.since_2000, kDay);
  // Not through days * kDay, which is beyond the type at its very beginning.
  const std::int64_t remainder = time.since_2000 % kDay;
  const std::int64_t of_day = remainder < 0 ? remainder + kDay : remainder;
  const Date date = date_of(days);
  const bool is_bc = date.year <= 0;
  const std::int64_t seconds = of_day / kSecond;
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}+00{}",
                 is_bc ? 1 - date.year : date.year, date.month, date.day, seconds / 3600,
                 seconds / 60 % 60, seconds % 60, of_day % kSecond, is_bc ? " BC" : "");
}

Result<Timestamp> timestamp_of_text(std::string_view text) {
  if (text == "infinity") return Timestamp::infinity();
  if (text == "-infinity") return Timestamp::minus_infinity();
  Scanner scanner(text);
  Date date{};
  date.year = scanner.number(4, 6);
  scanner.expect("-");
  date.month = scanner.number(2, 2);
  scanner.expect("-");
  date.day = scanner.number(2, 2);
  scanner.expect(" ");
  std::int64_t seconds = scanner.number(2, 2) * 3600;
  scanner.expect(":");
  seconds += scanner.number(2, 2) * 60;
  scanner.expect(":");
  seconds += scanner.number(2, 2);
  const std::int64_t fraction = scan_fraction(scanner);
  seconds -= scan_offset(scanner);
  if (scanner.accept(" BC")) date.year = 1 - date.year;
  // Beyond these years a count of microseconds has no room.
  constexpr std::int64_t kFirstYear = -4713;
  constexpr std::int64_t kLastYear = 294'276;
  const bool is_date = date.month >= 1 && date.month <= 12 && date.day >= 1 && date.day <= 31 &&
                       date.year >= kFirstYear && date.year <= kLastYear;
  if (!scanner.is_at_end() || !is_date) {
    return no_value(text, "timestamptz in the ISO style (set DateStyle = ISO)");
  }
  return Timestamp{days_of(date) * kDay + seconds * kSecond + fraction};
}

void append_uuid(std::string& out, const Uuid& uuid) {
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    append_byte(out, uuid[i]);
  }
}

Result<Uuid> uuid_of_text(std::string_view text) {
  constexpr std::size_t kSize = 36;
  constexpr std::string_view kExpected = "uuid of 36 characters";
  Uuid uuid{};
  if (text.size() != kSize) return no_value(text, kExpected);
  std::size_t at = 0;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    const bool is_behind_hyphen = i == 4 || i == 6 || i == 8 || i == 10;
    if (is_behind_hyphen && text[at++] != '-') return no_value(text, kExpected);
    const auto value = byte(text[at], text[at + 1]);
    if (!value) return no_value(text, kExpected);
    uuid[i] = *value;
    at += 2;
  }
  return uuid;
}

}  // namespace plimsoll::pg
