#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "lib/core/clock.hpp"

namespace plimsoll::bench {

/// One line on stderr that says what runs and how long it will still take, once the session has
/// lasted 2 s. It exists only where stderr is a terminal; elsewhere every call does nothing and
/// there is no thread.
///
/// Its thread wakes once a second and neither allocates nor uses the counted system calls, so work
/// counters do not see it.
///
/// Thread safety: all calls from the thread that runs the cases.
class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { stop(); }

  void start(std::size_t cases, bool is_terminal);
  void begin_case(const std::string& name);
  void end_case();
  void stop();

  /// Removes the line before something else is printed; the next tick brings it back.
  void clear();

  /// Seconds left, from what the cases so far took; nullopt before the first has ended.
  [[nodiscard]] static std::optional<double> seconds_left(std::size_t done, std::size_t cases,
                                                          double elapsed);

 private:
  void tick();
  void draw();

  std::mutex mutex_;
  std::condition_variable stopped_;
  std::thread ticker_;
  std::set<std::string> begun_;
  const char* current_ = nullptr;  // Points into begun_, whose nodes never move.
  std::size_t cases_ = 0;
  std::size_t done_ = 0;
  TimePoint started_{};
  bool running_ = false;
  bool drawn_ = false;
};

[[nodiscard]] Progress& progress();

}  // namespace plimsoll::bench
