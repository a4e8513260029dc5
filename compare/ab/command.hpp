#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compare/ab/process.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::compare {

/// What a command printed on its stdout. Errors: kRejected with its stderr's last lines when it did
/// not exit 0; as run_process.
[[nodiscard]] Result<std::string> output_of(const std::vector<std::string>& argv,
                                            const std::filesystem::path& directory,
                                            const HeldSignals& signals);

/// Where what may be made again is kept: $XDG_CACHE_HOME/plimsoll, else ~/.cache/plimsoll. Errors:
/// kNotFound when neither variable is set.
[[nodiscard]] Result<std::filesystem::path> cache_root();

/// A file lock, held until destruction or the death of this process, whichever is first.
class FileLock {
 public:
  /// Waits for it; calls `say_waiting` once if it has to. Errors: kCancelled, kInternal with the
  /// system's reason.
  template <class Say>
  [[nodiscard]] static Result<FileLock> acquire(const std::filesystem::path& file,
                                                const HeldSignals& signals, Say say_waiting) {
    auto lock = try_acquire(file);
    if (lock && lock->descriptor_ < 0) say_waiting();
    while (lock && lock->descriptor_ < 0) {
      if (auto paused = pause(signals); !paused) return fail(paused.error());
      lock = try_acquire(file);
    }
    return lock;
  }
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) noexcept : descriptor_(descriptor) {}
  /// The descriptor is below 0 when somebody else holds the lock.
  [[nodiscard]] static Result<FileLock> try_acquire(const std::filesystem::path& file);
  [[nodiscard]] static Result<void> pause(const HeldSignals& signals);

  int descriptor_;
};

}  // namespace plimsoll::compare
