#include "bench/lease_claims/holders.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
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
  input_ =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", stage.dsn(), stage.schema(), stage.rows().tenants,
                  plan.ttl.count(), lease::name(plan.subject), plan.batch, ::getpid());
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
  // A socket, since writing to a pipe whose reader died at once would be a signal that ends us.
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(Errc::kInternal, fmt::format("socketpair: {}", std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  // A group of its own: Ctrl-C at the terminal is for us, who end the holders in our time.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  std::string program = program_;
  std::string verb = "hold";
  std::array<char*, 3> argv{program.data(), verb.data(), nullptr};
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[0]);
  // Fits into the socket's buffer, so this does not wait for the reader.
  const bool told = error == 0 && ::send(ends[1], input_.data(), input_.size(), MSG_NOSIGNAL) ==
                                      static_cast<ssize_t>(input_.size());
  ::close(ends[1]);
  if (error != 0) {
    return fail(Errc::kUnavailable, fmt::format("{}: {}; build the target plimsoll-lease-claims",
                                                program_, std::strerror(error)));
  }
  if (!told) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail(Errc::kInternal, "a holder does not take its input");
  }
  return Holder{pid};
}

bool Holders::wait(std::chrono::milliseconds time) const {
  const TimePoint until = Clock::now() + time;
  while (!stopping_ && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return !stopping_;
}

bool Holders::freeze(const Holder& holder) const {
  ::kill(holder.pid, SIGSTOP);
  const bool whole = wait(plan_.ttl * 2);
  ::kill(holder.pid, SIGCONT);
  return whole;
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
      if (!freeze(holder)) return;
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
