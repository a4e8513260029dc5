#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::bench {

/// What callers were told about their writes, to be held against what a server has after a kill.
///
/// Each key has one writer, who waits for each of its writes; so after the last acknowledged write
/// the key is as that one left it, or as one of those did whose outcome nobody was told.
///
/// Thread safety: none.
class WriteLedger {
 public:
  /// A set of the key to a number, or an erase.
  struct Write {
    bool is_erase = false;
    std::int64_t number = 0;
    friend auto operator<=>(const Write&, const Write&) = default;
  };

  /// The server said that it is done.
  void acknowledge(const std::string& key, Write write);
  /// It was begun, and nobody knows.
  void leave_unknown(const std::string& key, Write write);

  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  [[nodiscard]] std::uint64_t unknown() const noexcept { return unknown_; }

  struct Verdict {
    std::int64_t lost = 0;      ///< Keys that are as before their last acknowledged write.
    std::int64_t invented = 0;  ///< Keys with what nobody wrote, or not for so long.
  };
  /// Judges the numbers that were found, and takes them for what is acknowledged from now on.
  [[nodiscard]] Verdict judge(const std::map<std::string, std::int64_t>& found);

 private:
  struct Key {
    Write last{true, 0};  ///< A key that was never written is as one that was erased.
    std::vector<Write> open{};
    std::vector<Write> before{};  ///< Acknowledged ones that were replaced since the last verdict.
  };

  std::map<std::string, Key> keys_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t unknown_ = 0;
};

struct CrashOptions {
  int cycles = 3;
  std::size_t callers = 16;
  std::uint64_t seed = 1;
  /// False: the control. The server acknowledges before it has written, and the store lets it.
  bool is_durable = true;
};

struct CrashCounts {
  int cycles = 0;
  std::uint64_t acknowledged = 0;  ///< Writes, over all cycles.
  std::uint64_t unknown = 0;       ///< Writes that were on their way when the server was killed.
  std::int64_t lost = 0;
  std::int64_t invented = 0;
  std::int64_t lost_updates = 0;   ///< Of a counter that all add to by compare-and-set.
  std::int64_t extra_updates = 0;  ///< Beyond those whose outcome nobody knows.
  std::set<std::string> kinds;     ///< Of the errors that callers were told.
};

/// Starts a PostgreSQL of its own, and as often as told: has callers set, erase and add through one
/// store without a pause, kills every process of the server by SIGKILL at a random moment, starts
/// it again, and counts by plain SQL. The store is the same all the time and finds its way back.
///
/// Cost: about a second a cycle. Errors: the fixtures'; kTimeout where nothing is acknowledged for
/// a minute.
[[nodiscard]] Result<CrashCounts> crash_cycles(const CrashOptions& options);

}  // namespace plimsoll::bench
