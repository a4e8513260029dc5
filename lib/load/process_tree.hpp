#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::load {

/// One look at one process: what /proc/<pid>/stat says.
struct ProcessStat {
  int pid = 0;
  int parent = 0;
  char state = '?';               ///< As in ps(1): R, S, D, T, Z, X.
  std::uint64_t start_ticks = 0;  ///< Since boot. With the pid it names a process for ever.
  std::uint64_t threads = 0;
  double rss_bytes = 0;
  double cpu_seconds = 0;     ///< Its own, user and system.
  double reaped_seconds = 0;  ///< Of its children that it waited for, and theirs.

  [[nodiscard]] bool running() const noexcept { return state != 'Z' && state != 'X'; }
};

/// Reads the line of /proc/<pid>/stat. The command's name may hold spaces and parentheses.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view line);

/// The same of a live process, with the CPU time in nanoseconds where the kernel has it; nullopt
/// when there is no such process (any more).
[[nodiscard]] std::optional<ProcessStat> read_process_stat(int pid);

/// The direct children; empty when there are none or the process is gone.
[[nodiscard]] std::vector<int> children_of(int pid);

/// CPU seconds of the kernel's own threads; 0 where they cannot be seen (a pid namespace).
[[nodiscard]] double kernel_threads_cpu();

/// CPU seconds of the trees under `roots`, each process once however the trees overlap.
[[nodiscard]] double trees_cpu(const std::vector<int>& roots);

/// CPU seconds of every process outside the trees under `roots`, kernel threads left out; ended
/// ones count through whoever waited for them, so the sum does not fall. nullopt where not all
/// processes can be seen (a pid namespace, hidepid). Cost: about 10 µs a process of the machine.
[[nodiscard]] std::optional<double> others_cpu(const std::vector<int>& roots);

/// A process and all that descend from it, watched over time. Processes may come, end and be
/// replaced under the same pid between and during readings.
///
/// Cost: about 20 µs a process for `read`, about 60 µs and one walk of its page tables if thorough.
/// Thread safety: none.
class ProcessTree {
 public:
  enum class Scope {
    kProcess,      ///< The process alone.
    kDescendants,  ///< With its children and theirs.
  };

  struct Reading {
    double cpu_seconds = 0;  ///< Since the processes began, ended and waited-for children included.
    double rss_bytes = 0;
    double threads = 0;
    double processes = 0;
    std::optional<double> fds{};  ///< nullopt where not permitted.
    // Of a thorough reading only:
    std::optional<double> pss_bytes{};
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
  };

  /// Errors: kNotFound when no such process is running.
  [[nodiscard]] static Result<ProcessTree> open(int pid, Scope scope);

  [[nodiscard]] int pid() const noexcept { return root_.pid; }

  /// Whether the root still runs; a zombie, or another process under its pid, does not count.
  [[nodiscard]] bool alive() const;

  /// Sums over the tree. All zero when the root is gone.
  [[nodiscard]] Reading read(bool thorough);

 private:
  using Key = std::pair<int, std::uint64_t>;  // pid and start.
  struct Switches {
    std::uint64_t voluntary = 0;
    std::uint64_t involuntary = 0;
  };

  ProcessTree(const ProcessStat& root, Scope scope) : root_(root), scope_(scope) {}
  void read_thoroughly(const ProcessStat& process, Reading& reading);

  ProcessStat root_;
  Scope scope_;
  std::map<Key, Switches> switches_;  // Last seen. The kernel does not hand them on to the parent.
};

}  // namespace plimsoll::load
