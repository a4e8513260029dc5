#include "bench/lease_claims/holders.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

extern "C" char** environ;  // NOLINT: POSIX declares it nowhere.

namespace plimsoll::bench {

Holders::Holders(const Stage& stage, Plan plan) : plan_(plan) {
  program_ =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "plimsoll-lease-claims";
  // By standard input: a command line may be read by everybody, and a dsn may hold a password.
  input_ = fmt::format("{}\n{}\n{}\n{}\n", stage.dsn(), stage.schema(), stage.rows().tenants,
                       plan.ttl.count());
}

Result<std::unique_ptr<Holders>> Holders::start(const Stage& stage, Plan plan) {
  std::unique_ptr<Holders> holders(new Holders(stage, plan));
  for (std::size_t i = 0; i < plan.count; ++i) {
    auto holder = holders->spawn();
    if (!holder) return fail(holder.error());
    holders->holders_.push_back(*holder);
  }
  holders->ruler_ = std::thread([&self = *holders] { self.rule(); });
  return holders;
}

Holders::~Holders() { (void)stop(); }

Result<Holders::Holder> Holders::spawn() const {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    return fail(Errc::kInternal, fmt::format("pipe: {}", std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[0], STDIN_FILENO);
  std::string program = program_;
  std::string verb = "hold";
  std::array<char*, 3> argv{program.data(), verb.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[0]);
  // Fits into the pipe's buffer, so this does not wait for the reader.
  const bool told = error == 0 && ::write(pipe[1], input_.data(), input_.size()) ==
                                      static_cast<ssize_t>(input_.size());
  ::close(pipe[1]);
  if (error != 0) {
    return fail(Errc::kUnavailable, fmt::format("{}: {}; build the target plimsoll-lease-claims",
                                                program_, std::strerror(error)));
  }
  if (!told) return fail(Errc::kInternal, "a holder does not take its input");
  return Holder{pid};
}

bool Holders::wait(std::chrono::milliseconds time) const {
  const TimePoint until = Clock::now() + time;
  while (!stopping_ && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return !stopping_;
}

void Holders::rule() {
  for (std::size_t turn = 0; wait(plan_.pause); ++turn) {
    Holder& holder = holders_[turn % holders_.size()];
    int status = 0;
    if (::waitpid(holder.pid, &status, WNOHANG) == holder.pid) {
      holder.pid = 0;
      failure_ = fmt::format("a holder ended by itself, status {}", status);
      return;
    }
    if (plan_.fate == Fate::kFrozen) {
      ::kill(holder.pid, SIGSTOP);
      (void)wait(plan_.ttl * 2);
      ::kill(holder.pid, SIGCONT);
    } else {
      ::kill(holder.pid, SIGKILL);
      ::waitpid(holder.pid, nullptr, 0);
      holder.pid = 0;
      auto next = spawn();
      if (!next) {
        failure_ = next.error().message;
        return;
      }
      holder = *next;
    }
    ++fates_;
  }
}

Result<std::uint64_t> Holders::stop() {
  stopping_ = true;
  if (ruler_.joinable()) ruler_.join();
  for (Holder& holder : holders_) {
    if (holder.pid == 0) continue;
    ::kill(holder.pid, SIGKILL);
    ::waitpid(holder.pid, nullptr, 0);
    holder.pid = 0;
  }
  if (!failure_.empty()) return fail(Errc::kInternal, failure_);
  return fates_;
}

}  // namespace plimsoll::bench
