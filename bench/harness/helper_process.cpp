#include "bench/harness/helper_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "lib/core/clock.hpp"

extern "C" char** environ;  // NOLINT: POSIX declares it nowhere.

namespace plimsoll::bench {
namespace {

/// Returns 0 or an errno.
int spawn(const HelperProcess::Plan& plan, int input, int output, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  if (output >= 0) ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<std::string> words{plan.program};
  words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int error =
      ::posix_spawn(&pid, plan.program.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

std::string program_beside_us(const std::string& name) {
  std::error_code error;
  const auto us = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? name : (us.parent_path() / name).string();
}

Result<HelperProcess> HelperProcess::start(const Plan& plan) {
  HelperProcess helper;
  helper.name_ = std::filesystem::path(plan.program).filename();
  std::array<int, 2> to{-1, -1}, from{-1, -1};
  // A socket, since writing to a pipe whose reader died at once would be a signal that ends us.
  const bool opened = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to.data()) == 0 &&
                      (!plan.answers || ::pipe2(from.data(), O_CLOEXEC) == 0);
  const int cause = errno;
  const fixtures::Fd its_input(to[0]);
  const fixtures::Fd its_output(from[1]);
  helper.input_ = fixtures::Fd(to[1]);
  helper.output_ = fixtures::Fd(from[0]);
  if (!opened) {
    return fail(Errc::kInternal,
                fmt::format("no channel to {}: {}", helper.name_, std::strerror(cause)));
  }
  const int error = spawn(plan, its_input.get(), its_output.get(), helper.pid_);
  if (error != 0) {
    helper.pid_ = 0;
    return fail(Errc::kUnavailable, fmt::format("{}: {}; build the target {}", plan.program,
                                                std::strerror(error), helper.name_));
  }
  // What does not fit into the socket's buffer is an error here: nobody may wait for a reader that
  // waits for us.
  if (::send(helper.input_.get(), plan.input.data(), plan.input.size(),
             MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(plan.input.size())) {
    return fail(Errc::kInternal, helper.name_ + " does not take its input");
  }
  if (!plan.stays_open) helper.end_input();
  return helper;
}

HelperProcess::HelperProcess(HelperProcess&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, 0)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)) {}

HelperProcess& HelperProcess::operator=(HelperProcess&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(pid_, other.pid_);
  std::swap(input_, other.input_);
  std::swap(output_, other.output_);
  return *this;
}

HelperProcess::~HelperProcess() { kill(); }

void HelperProcess::signal(int number) const { ::kill(pid_, number); }

std::optional<int> HelperProcess::ended() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = 0;
  return status;
}

Result<std::string> HelperProcess::line(std::chrono::milliseconds patience) {
  std::string text;
  const TimePoint until = Clock::now() + patience;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd readable{output_.get(), POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(std::max(left.count(), 0L)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      return fail(Errc::kTimeout,
                  fmt::format("{} says nothing for {} ms", name_, patience.count()));
    }
    char c = 0;
    if (ready < 0 || ::read(output_.get(), &c, 1) != 1) break;
    if (c == '\n') return text;
    text += c;
  }
  return fail(Errc::kInternal, name_ + " ended without an answer");
}

void HelperProcess::end_input() { input_.reset(); }

int HelperProcess::wait() {
  int status = 1;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return status;
}

void HelperProcess::kill() {
  if (pid_ == 0) return;
  // Its whole group: what it started would outlive it, and hold the other end of our pipe.
  ::kill(-pid_, SIGKILL);
  (void)wait();
}

}  // namespace plimsoll::bench
