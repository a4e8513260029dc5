#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "fixtures/process/fd.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::bench {

/// A program that takes part in a case as a process of its own: one that may be killed or frozen,
/// or that must not share our memory. It gets a process group of its own, since Ctrl-C at the
/// terminal is for us, who end the helper in our time.
///
/// Thread safety: none.
class HelperProcess {
 public:
  struct Plan {
    std::string program;  ///< A path; `program_beside_us` finds those that were built with us.
    std::vector<std::string> arguments{};
    /// Its standard input, at most 64 KiB. Secrets go here: everybody may read a command line.
    std::string input{};
    bool stays_open = false;  ///< Input goes on after `input`, until `end_input`.
    bool answers = false;     ///< Its standard output is ours, by `line`; else it is our own.
  };

  /// Errors: kUnavailable (cannot be started), kInternal (no channel, or it does not take its
  /// input).
  [[nodiscard]] static Result<HelperProcess> start(const Plan& plan);
  HelperProcess(HelperProcess&& other) noexcept;
  HelperProcess& operator=(HelperProcess&& other) noexcept;
  /// Kills it if it still runs.
  ~HelperProcess();

  /// REQUIRES: not ended.
  void signal(int number) const;
  /// Its wait status if it has ended by itself, without waiting for it. Once that is known, it has
  /// ended. REQUIRES: not ended.
  [[nodiscard]] std::optional<int> ended();
  /// The next line it says, without its end. REQUIRES: the plan's `answers`. Errors: kTimeout
  /// (nothing within patience), kInternal (it ended without one).
  [[nodiscard]] Result<std::string> line(std::chrono::milliseconds patience);
  void end_input();
  /// Waits for its end. Returns its wait status, 0 after a success. REQUIRES: not ended.
  [[nodiscard]] int wait();
  /// SIGKILL for it and what it started, and waits for its end. Nothing happens if it has ended.
  void kill();

 private:
  HelperProcess() = default;

  std::string name_;
  pid_t pid_ = 0;  ///< 0: ended, and waited for.
  fixtures::Fd input_;
  fixtures::Fd output_;
};

/// The program of this name in the folder of our own binary.
[[nodiscard]] std::string program_beside_us(const std::string& name);

}  // namespace plimsoll::bench
