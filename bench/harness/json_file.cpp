#include "bench/harness/json_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "fixtures/process/fd.hpp"
#include "lib/core/json.hpp"

namespace plimsoll::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".tmp.";  // And the writer's process id.

tl::unexpected<Error> system_failure(std::string_view doing, const std::string& path, int code) {
  return fail(Errc::kInternal, fmt::format("cannot {} '{}': {}", doing, path, std::strerror(code)));
}

Result<void> write_whole(const std::string& path, const std::string& text) {
  const fixtures::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) return system_failure("create", path, errno);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return system_failure("write", path, errno);
    done += static_cast<std::size_t>(wrote);
  }
  return {};
}

void remove_leftovers(const fs::path& target) {
  const std::string prefix = target.filename().string() + std::string(kSuffix);
  std::error_code ignored;
  fs::directory_iterator entry(target.parent_path(), ignored);
  for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(prefix)) continue;
    char* end = nullptr;
    const long pid = std::strtol(name.c_str() + prefix.size(), &end, 10);
    const bool writer_is_dead =
        *end == '\0' && pid > 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
    if (writer_is_dead) fs::remove(entry->path(), ignored);
  }
}

}  // namespace

std::string text_of(const Json& document) { return json_text(document, 2) + "\n"; }

Result<JsonFile> JsonFile::create(const std::string& path, const Json& first) {
  std::error_code error;
  // A link is followed: renaming over it would leave what it points to as it was.
  // Made absolute first, since a bare name has no parent to create.
  const fs::path whole = fs::absolute(path, error);
  const fs::path target = error ? whole : fs::weakly_canonical(whole, error);
  if (error)
    return fail(Errc::kInternal, fmt::format("cannot resolve '{}': {}", path, error.message()));
  const auto status = fs::status(target, error);
  const bool names_a_folder = !fs::path(path).has_filename();
  if (names_a_folder || (fs::exists(status) && !fs::is_regular_file(status))) {
    return fail(
        Errc::kRefused,
        fmt::format("'{}' is no file; --benchmark_format=json writes the results to stdout", path));
  }
  fs::create_directories(target.parent_path(), error);
  if (error) {
    return fail(Errc::kInternal, fmt::format("cannot make the directory '{}': {}",
                                             target.parent_path().string(), error.message()));
  }
  remove_leftovers(target);
  JsonFile file(target.string());
  if (const auto written = file.replace(first); !written) return fail(written.error());
  return file;
}

Result<void> JsonFile::replace(const Json& document) {
  const std::string temporary = fmt::format("{}{}{}", path_, kSuffix, ::getpid());
  const auto written = write_whole(temporary, text_of(document));
  if (!written || std::rename(temporary.c_str(), path_.c_str()) != 0) {
    const int code = errno;
    ::unlink(temporary.c_str());
    if (!written) return written;
    return system_failure("replace", path_, code);
  }
  return {};
}

}  // namespace plimsoll::bench
