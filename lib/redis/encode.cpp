#include "lib/redis/encode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace plimsoll::redis {
namespace {

// "$", twenty digits and two line ends, generously.
constexpr std::size_t kFraming = 32;

constexpr std::array<std::string_view, 9> kManyAnswers{
    "SUBSCRIBE",    "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE",
    "SUNSUBSCRIBE", "MONITOR",    "SYNC",       "PSYNC"};

bool is_word(std::string_view word, std::string_view upper) noexcept {
  return std::ranges::equal(word, upper, [](char a, char b) {
    return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b;
  });
}

void append_header(std::string& out, char kind, std::size_t number) {
  std::array<char, kFraming> text{kind};
  auto* const end = std::to_chars(text.data() + 1, text.data() + text.size(), number).ptr;
  out.append(text.data(), end);
  out.append("\r\n", 2);
}

Result<void> check_kind(const std::vector<std::string>& words) {
  const std::string_view name = words.front();
  for (const auto many : kManyAnswers) {
    if (!is_word(name, many)) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("{} is not answered exactly once, which would shift the answers of all "
                            "other calls on the connection",
                            many));
  }
  if (is_word(name, "HELLO")) {
    return fail(Errc::kInvalidArgument, "HELLO would change the protocol under the other calls");
  }
  if (is_word(name, "CLIENT") && words.size() > 1 && is_word(words[1], "REPLY")) {
    return fail(Errc::kInvalidArgument, "CLIENT REPLY would leave the other calls unanswered");
  }
  return {};
}

}  // namespace

Result<void> check(const Command& command, const CommandLimits& limits) {
  const auto& words = command.words();
  if (words.empty() || words.front().empty()) {
    return fail(Errc::kInvalidArgument, "the command has no name");
  }
  if (auto kind = check_kind(words); !kind) return kind;
  if (words.size() > limits.max_arguments) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the command has {} words; at most {} are possible, use several "
                            "commands in a pipeline",
                            words.size(), limits.max_arguments));
  }
  std::size_t total = kFraming;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].size() > limits.max_argument_bytes) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("word {} of the command has {} bytes; one may have {}", i,
                              words[i].size(), limits.max_argument_bytes));
    }
    total += words[i].size() + kFraming;
  }
  if (total > limits.max_command_bytes) {
    return fail(Errc::kInvalidArgument, fmt::format("the command has {} bytes; one may have {}",
                                                    total, limits.max_command_bytes));
  }
  return {};
}

void append(std::string& out, const Command& command) {
  append_header(out, '*', command.words().size());
  for (const auto& word : command.words()) {
    append_header(out, '$', word.size());
    out.append(word);
    out.append("\r\n", 2);
  }
}

}  // namespace plimsoll::redis
