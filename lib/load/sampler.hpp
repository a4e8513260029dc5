#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/load/host.hpp"
#include "lib/load/resources.hpp"

namespace plimsoll::load {

/// Watches our process, server process trees and the host during a run, on a thread of its own.
///
/// It samples every `interval`, more rarely where reading /proc is dear (at most 1 % of one core is
/// spent on it); PSS, context switches and bytes are read at the window's edges and at every tenth
/// sample. Memory is bounded however long it runs.
///
/// Thread safety: one caller. No call but `start` and `stop` waits.
class Sampler {
 public:
  struct Findings {
    Resources own;
    std::vector<Resources> servers;  ///< One for each server pid.
    std::vector<std::string> gone;   ///< One line for each server that no longer runs.
    HostUse host;
  };

  /// Errors: kInvalidArgument when one of the servers is not running.
  [[nodiscard]] static Result<Sampler> start(const std::vector<int>& server_pids,
                                             std::chrono::milliseconds interval);

  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  ~Sampler();

  /// The window begins, or ends, about now. The thread takes a thorough sample at once.
  void begin_window();
  void end_window();

  /// Ends the thread and tells what was seen between the two marks. Without `end_window` the window
  /// ends here.
  [[nodiscard]] Findings stop();

 private:
  class Impl;
  explicit Sampler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::load
