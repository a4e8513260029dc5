#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "compare/history/baseline.hpp"
#include "compare/read/reader.hpp"

namespace plimsoll::compare {
namespace {

namespace fs = std::filesystem;

bool is_plain_name(const std::string& text) {
  return !text.empty() && text != "." && text != ".." && text.find('/') == std::string::npos &&
         text.find('\0') == std::string::npos;
}

/// The class folders under a root, by name.
std::vector<fs::path> folders_in(const fs::path& root) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    std::error_code type_error;
    if (fs::is_directory(it->path(), type_error)) folders.push_back(it->path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// Held while a folder's files are read, changed and replaced, so that of two recorders at once
/// neither loses what the other has added. Leaves nothing behind.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : file_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (file_ >= 0 && ::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (file_ >= 0) ::close(file_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_;
};

Error system_error(const fs::path& path, const std::string& why) {
  return Error{Errc::kInternal, fmt::format("{}: {}", path.string(), why), {}};
}

Result<void> write_directly(const fs::path& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return fail(system_error(path, std::strerror(errno)));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int cause = errno;
  if (std::fclose(file) == 0 && written) return {};
  return fail(system_error(path, std::strerror(written ? errno : cause)));
}

}  // namespace

Result<fs::path> baseline_path(const fs::path& root, const Facts& facts) {
  for (const auto& [what, text] :
       {std::pair{"machine class", &facts.machine_class}, std::pair{"size", &facts.size},
        std::pair{"group", &facts.group}}) {
    if (is_plain_name(*text)) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("the {} '{}' cannot name a baseline file", what, *text));
  }
  return root / facts.machine_class / facts.size / (facts.group + ".json");
}

Result<void> replace_file(const fs::path& wanted, const std::string& text) {
  std::error_code error;
  // A link stays a link, to the new text; a device or a FIFO has no text to be replaced.
  const fs::path path =
      fs::is_symlink(wanted, error) ? fs::weakly_canonical(wanted, error) : wanted;
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(system_error(wanted, error.message()));
  }
  if (fs::exists(path, error) && fs::is_other(path, error)) return write_directly(path, text);
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) return fail(system_error(path.parent_path(), error.message()));
  const fs::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(temporary.c_str(), "wb"),
                                                       &std::fclose);
  if (!file) return fail(system_error(temporary, std::strerror(errno)));
  bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                 std::fflush(file.get()) == 0 && ::fsync(::fileno(file.get())) == 0;
  const int cause = errno;
  written = std::fclose(file.release()) == 0 && written;
  if (!written) {
    fs::remove(temporary, error);
    return fail(system_error(temporary, std::strerror(cause)));
  }
  fs::rename(temporary, path, error);
  if (!error) return {};
  const std::string why = error.message();
  fs::remove(temporary, error);
  return fail(system_error(path, why));
}

Result<RecordOutcome> record(const fs::path& root, std::span<const Session> sessions) {
  std::map<fs::path, std::vector<Session>> by_file;
  std::vector<std::pair<fs::path, Recorded>> ready;
  for (const Session& session : sessions) {
    const auto path = baseline_path(root, session.facts);
    // A plain file has none of the three; `append` says so better.
    by_file[path ? *path : fs::path()].push_back(session);
    if (!path && session.facts.ours) return fail(path.error());
  }
  std::error_code error;
  fs::path there = fs::absolute(root, error);
  while (!fs::is_directory(there, error) && there != there.root_path()) there = there.parent_path();
  const FolderLock lock(there);
  for (const auto& [path, members] : by_file) {
    std::string old_text;
    if (fs::exists(path, error)) {
      auto text = read_bytes(path);
      if (!text) return fail(std::move(text.error()));
      old_text = std::move(*text);
    }
    auto recorded = append(old_text, members);
    if (!recorded) return fail(std::move(recorded.error()));
    ready.emplace_back(path, std::move(*recorded));
  }
  // Nothing is written until everything can be.
  RecordOutcome outcome;
  for (const auto& [path, recorded] : ready) {
    outcome.notes.insert(outcome.notes.end(), recorded.notes.begin(), recorded.notes.end());
    outcome.known += recorded.known;
    if (recorded.sessions == 0) continue;
    if (auto replaced = replace_file(path, recorded.text); !replaced) {
      return fail(std::move(replaced.error()));
    }
    outcome.added += recorded.sessions;
    outcome.notes.push_back(fmt::format("{}: {} session{} added", path.string(), recorded.sessions,
                                        recorded.sessions == 1 ? "" : "s"));
  }
  return outcome;
}

Result<Baselines> find_baselines(std::span<const fs::path> roots, const Facts& facts) {
  Baselines baselines;
  for (const fs::path& root : roots) {
    for (const fs::path& folder : folders_in(root)) {
      const fs::path path = folder / facts.size / (facts.group + ".json");
      std::error_code error;
      if (!fs::exists(path, error)) continue;
      const auto text = read_bytes(path);
      if (!text) return fail(text.error());
      auto sessions = read_baseline(*text, path.string());
      if (!sessions) return fail(std::move(sessions.error()));
      for (Session& session : *sessions) {
        const bool same = session.facts.machine_class == facts.machine_class &&
                          session.facts.settings_hash == facts.settings_hash;
        (same ? baselines.same : baselines.elsewhere).push_back(std::move(session));
      }
    }
  }
  return baselines;
}

}  // namespace plimsoll::compare
