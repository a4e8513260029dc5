#pragma once

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::compare {

/// While it lives, SIGINT, SIGTERM and SIGHUP (those that are not ignored) are held back from this
/// thread and can be asked for, so that nobody dies before the children are gone. At its end the
/// signals are as before, and one that came is still pending: it then does what it always does.
///
/// Thread safety: make it in the only thread, or before the others.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Whether one came. Stays true.
  [[nodiscard]] bool interrupted() const;

  /// Readable once one came; nobody reads it.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const sigset_t& mask_before() const noexcept { return before_; }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

/// A program to run to its end: no shell, stdin from /dev/null, a process group of its own.
struct ProcessSpec {
  std::vector<std::string> argv;         ///< argv[0] is searched in PATH when it has no slash.
  std::vector<std::string> environment;  ///< "NAME=value"; all of it.
  std::filesystem::path directory;       ///< Where it runs; empty: here.
  std::filesystem::path output;          ///< Its stdout, created anew.
  std::filesystem::path errors;          ///< Its stderr; may be the same file.
  std::chrono::milliseconds limit{0};    ///< 0: none.
};

/// How it ended.
struct ProcessEnd {
  int exit_code = 0;  ///< 0 when it ended by a signal.
  int signal = 0;
  bool timed_out = false;

  [[nodiscard]] bool ok() const noexcept { return exit_code == 0 && signal == 0 && !timed_out; }
  /// "exit 3", "signal 11 (Segmentation fault)", "killed after the limit"
  [[nodiscard]] std::string describe() const;
};

/// Runs it. At the limit, or when a held signal comes, its group gets SIGTERM, and SIGKILL 2 s
/// later; what it left behind in its group gets the same. Should this process die, it gets SIGKILL
/// from the kernel.
///
/// Errors: kNotFound (no such program), kCancelled (interrupted), kInternal with the system's
/// reason.
[[nodiscard]] Result<ProcessEnd> run_process(const ProcessSpec& spec, const HeldSignals& signals);

/// This process' environment without the names in `changes` whose value is "", and with the others
/// set.
[[nodiscard]] std::vector<std::string> environment_with(
    const std::map<std::string, std::string>& changes);

/// The last `lines` lines of a file that are not blank; empty when there are none.
[[nodiscard]] std::string tail_of(const std::filesystem::path& file, std::size_t lines);

/// A directory of its own below TMPDIR, gone with everything in it at destruction.
class ScratchDirectory {
 public:
  /// Errors: kInternal with the system's reason.
  [[nodiscard]] static Result<ScratchDirectory> create();
  ScratchDirectory(ScratchDirectory&& other) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&& other) noexcept;
  ~ScratchDirectory();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  explicit ScratchDirectory(std::filesystem::path path);
  std::filesystem::path path_;
};

}  // namespace plimsoll::compare
