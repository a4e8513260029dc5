#include "compare/ab/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <sstream>
#include <utility>

#include "lib/core/clock.hpp"

namespace plimsoll::compare {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kGrace{2000};
constexpr int kHeld[] = {SIGINT, SIGTERM, SIGHUP};

/// A signal that is ignored would stay pending once it is blocked, and be taken for an
/// interruption.
bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

std::string system_reason(std::string_view what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Everything that the child needs, made before the fork: after it only async-signal-safe calls are
/// allowed.
struct Launch {
  std::vector<char*> argv;
  std::vector<char*> environment;
  const char* directory;
  int input;
  int output;
  int errors;
  int report;  ///< Closed by a successful exec, else carries errno.
  pid_t parent;
  sigset_t mask;
};

[[noreturn]] void become(const Launch& launch) {
  setpgid(0, 0);
  // The parent may have died before the kernel knew that we wanted to be told.
  bool ready = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == launch.parent;
  ready = ready && sigprocmask(SIG_SETMASK, &launch.mask, nullptr) == 0;
  ready = ready && (launch.directory == nullptr || chdir(launch.directory) == 0);
  ready = ready && dup2(launch.input, STDIN_FILENO) >= 0 &&
          dup2(launch.output, STDOUT_FILENO) >= 0 && dup2(launch.errors, STDERR_FILENO) >= 0;
  if (ready) execvpe(launch.argv[0], launch.argv.data(), launch.environment.data());
  const int reason = errno;
  const ssize_t written = write(launch.report, &reason, sizeof reason);
  _exit(written == sizeof reason ? 127 : 126);
}

/// glibc 2.36 declares pidfd_open without C linkage, so that C++ cannot link it.
int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

/// Waits until the child is a zombie, or the time is up (below 0: never), or `also` is readable
/// (unless below 0). Nothing wakes us meanwhile: we would do so beside the code that is measured.
/// True when the child has ended.
bool wait_until_ended(int pidfd, int also, milliseconds limit) {
  pollfd entries[] = {{pidfd, POLLIN, 0}, {also, POLLIN, 0}};
  const int ready = poll(entries, 2, static_cast<int>(limit.count()));
  return ready > 0 && entries[0].revents != 0;
}

/// Takes the whole group down: first the polite way, so that a benchmark can drop its schema.
void end_group(pid_t pid, int pidfd) {
  kill(-pid, SIGTERM);
  wait_until_ended(pidfd, -1, kGrace);
  kill(-pid, SIGKILL);
  wait_until_ended(pidfd, -1, kGrace);
}

/// Whether any process of the group still runs. Zombies do not count: who must reap them may take
/// its time.
bool group_runs(pid_t group) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    if (!std::getline(stat, line)) continue;
    std::istringstream fields(
        line.substr(line.rfind(')') + 1));  // The name before it may hold anything.
    char state = 'Z';
    pid_t parent = 0;
    pid_t in_group = 0;
    if (fields >> state >> parent >> in_group && in_group == group && state != 'Z') return true;
  }
  return false;
}

/// What the child started and left behind has as long to go as the child would have had.
void sweep_group(pid_t pid) {
  if (kill(-pid, SIGTERM) != 0) return;
  const TimePoint deadline = Clock::now() + kGrace;
  while (group_runs(pid) && Clock::now() < deadline) usleep(10'000);
  kill(-pid, SIGKILL);
}

}  // namespace

HeldSignals::HeldSignals() {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : kHeld) {
    if (!is_ignored(signal)) sigaddset(&held, signal);
  }
  pthread_sigmask(SIG_BLOCK, &held, &before_);
  descriptor_ = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
}

HeldSignals::~HeldSignals() {
  if (descriptor_ >= 0) close(descriptor_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool HeldSignals::interrupted() const {
  pollfd entry{descriptor_, POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

std::string ProcessEnd::describe() const {
  if (timed_out) return "killed at the time limit";
  if (signal != 0) return fmt::format("signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit {}", exit_code);
}

Result<ProcessEnd> run_process(const ProcessSpec& spec, const HeldSignals& signals) {
  const Descriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor output(
      open(spec.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (output.get() < 0) return fail(Errc::kInternal, system_reason(spec.output.string()));
  const bool one_file = spec.errors == spec.output;
  const Descriptor own_errors(
      one_file ? -1 : open(spec.errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!one_file && own_errors.get() < 0)
    return fail(Errc::kInternal, system_reason(spec.errors.string()));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(Errc::kInternal, system_reason("pipe"));
  const Descriptor report(ends[0]);

  sigset_t mask = signals.mask_before();
  for (const int signal : kHeld)
    sigdelset(&mask, signal);  // Whoever holds them, the child must hear them.
  const Launch launch{pointers(spec.argv),
                      pointers(spec.environment),
                      spec.directory.empty() ? nullptr : spec.directory.c_str(),
                      input.get(),
                      output.get(),
                      one_file ? output.get() : own_errors.get(),
                      ends[1],
                      getpid(),
                      mask};
  const pid_t pid = fork();
  if (pid == 0) become(launch);
  close(ends[1]);
  if (pid < 0) return fail(Errc::kInternal, system_reason("fork"));
  setpgid(pid, pid);  // Here too, since either of us may be first.

  int reason = 0;
  if (read(report.get(), &reason, sizeof reason) == sizeof reason) {
    waitpid(pid, nullptr, 0);
    return fail(reason == ENOENT ? Errc::kNotFound : Errc::kInternal,
                fmt::format("cannot run {}: {}", spec.argv[0], std::strerror(reason)));
  }
  const Descriptor pidfd(open_pidfd(pid));
  if (pidfd.get() < 0) {
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return fail(Errc::kInternal, system_reason("pidfd_open"));
  }
  const milliseconds limit = spec.limit.count() > 0 ? spec.limit : milliseconds{-1};
  const bool by_itself = wait_until_ended(pidfd.get(), signals.descriptor(), limit);
  if (!by_itself) end_group(pid, pidfd.get());
  int status = 0;
  waitpid(pid, &status, 0);
  sweep_group(pid);
  if (signals.interrupted()) return fail(Errc::kCancelled, "interrupted");
  ProcessEnd end;
  end.timed_out = !by_itself;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return end;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view pair(*entry);
    if (!changes.contains(std::string(pair.substr(0, pair.find('='))))) result.emplace_back(pair);
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) result.push_back(name + "=" + value);
  }
  return result;
}

std::string tail_of(const std::filesystem::path& file, std::size_t lines) {
  std::ifstream stream(file);
  std::deque<std::string> last;
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    last.push_back(line);
    if (last.size() > lines) last.pop_front();
  }
  std::string text;
  for (const std::string& line : last) text += (text.empty() ? "" : "\n") + line;
  return text;
}

Result<ScratchDirectory> ScratchDirectory::create() {
  std::error_code error;
  const auto root = std::filesystem::temp_directory_path(error);
  std::string name = (error ? std::filesystem::path("/tmp") : root) / "plimsoll-ab-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return fail(Errc::kInternal, system_reason(name));
  return ScratchDirectory(name);
}

ScratchDirectory::ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchDirectory& ScratchDirectory::operator=(ScratchDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace plimsoll::compare
