#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace plimsoll::redis {

/// One command: its name and its arguments, each sent with its length, so that any byte may stand
/// in any of them. `Command("SET", key, value, "PX", 100)`; integers become decimal digits.
///
/// No aggregate on purpose: GCC 12 destroys an aggregate twice that is written out inside a
/// co_await statement, and gives up on a list in braces there.
class Command {
 public:
  Command() = default;
  explicit Command(std::vector<std::string> words) noexcept : words_(std::move(words)) {}
  template <class... Words>
  explicit Command(std::string_view name, Words&&... words) {
    words_.reserve(1 + sizeof...(words));
    words_.emplace_back(name);
    (add(std::forward<Words>(words)), ...);
  }

  /// Appends one argument.
  template <class Word>
  Command& add(Word&& word) {
    if constexpr (std::is_integral_v<std::decay_t<Word>>) {
      words_.push_back(std::to_string(word));
    } else {
      words_.emplace_back(std::forward<Word>(word));
    }
    return *this;
  }

  /// The name first. Empty: no command at all, which `check` refuses.
  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }

 private:
  std::vector<std::string> words_;
};

/// The limit of one call, when it is not the connection's.
using Timeout = std::optional<std::chrono::milliseconds>;

/// What the connection did since it was opened, the log-in apart. Work counters: they do not depend
/// on the machine's mood. Commands are counted when their answer arrives, so one that timed out is
/// counted once the server is done with it.
struct Counters {
  std::uint64_t commands = 0;  ///< Answered by the server, failed ones included.
  std::uint64_t errors = 0;    ///< Commands among them whose answer was an error.
  /// Calls that were sent and waited for: one for each command or pipeline, however many commands
  /// it carries and however many calls travel at once.
  std::uint64_t round_trips = 0;
  std::uint64_t bytes_sent = 0;      ///< On the wire, framing included.
  std::uint64_t bytes_received = 0;  ///< On the wire, framing included.

  Counters& operator+=(const Counters& other) noexcept {
    commands += other.commands;
    errors += other.errors;
    round_trips += other.round_trips;
    bytes_sent += other.bytes_sent;
    bytes_received += other.bytes_received;
    return *this;
  }

  friend bool operator==(const Counters&, const Counters&) = default;
};

}  // namespace plimsoll::redis
