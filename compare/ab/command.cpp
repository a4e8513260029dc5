#include "compare/ab/command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace plimsoll::compare {

Result<std::string> output_of(const std::vector<std::string>& argv,
                              const std::filesystem::path& directory, const HeldSignals& signals) {
  const auto scratch = ScratchDirectory::create();
  if (!scratch) return fail(scratch.error());
  ProcessSpec spec;
  spec.argv = argv;
  spec.environment = environment_with({});
  spec.directory = directory;
  spec.output = scratch->path() / "stdout";
  spec.errors = scratch->path() / "stderr";
  const auto end = run_process(spec, signals);
  if (!end) return fail(end.error());
  if (!end->ok()) {
    std::string said = tail_of(spec.errors, 3);
    std::replace(said.begin(), said.end(), '\n', ';');
    return fail(Errc::kRejected, fmt::format("{}: {}: {}", argv[0], end->describe(), said));
  }
  std::ostringstream text;
  text << std::ifstream(spec.output).rdbuf();
  return text.str();
}

Result<std::filesystem::path> cache_root() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return std::filesystem::path(cache) / "plimsoll";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::filesystem::path(home) / ".cache" / "plimsoll";
  return fail(Errc::kNotFound, "no place for builds: neither XDG_CACHE_HOME nor HOME is set");
}

Result<FileLock> FileLock::try_acquire(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return fail(Errc::kInternal, fmt::format("{}: {}", file.string(), std::strerror(errno)));
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return FileLock(descriptor);
  const int reason = errno;
  close(descriptor);
  if (reason == EWOULDBLOCK || reason == EINTR) return FileLock(-1);
  return fail(Errc::kInternal, fmt::format("{}: {}", file.string(), std::strerror(reason)));
}

Result<void> FileLock::pause(const HeldSignals& signals) {
  pollfd entry{signals.descriptor(), POLLIN, 0};
  poll(&entry, 1, 200);
  if (signals.interrupted()) return fail(Errc::kCancelled, "interrupted");
  return {};
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace plimsoll::compare
