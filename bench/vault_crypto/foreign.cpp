#include "bench/vault_crypto/foreign.hpp"

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
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "lib/core/clock.hpp"

extern "C" char** environ;  // NOLINT: POSIX declares it nowhere.

namespace plimsoll::bench {
namespace {

/// Far more than a reader takes for its first answer or its last.
constexpr std::chrono::seconds kPatience{60};

}  // namespace

Result<ForeignReader> ForeignReader::start(const std::string& dsn, std::uint64_t seed,
                                           std::size_t secrets) {
  std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "plimsoll-vault-reader";
  // A socket, since writing to a pipe whose reader died at once would be a signal that ends us.
  std::array<int, 2> to{}, from{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to.data()) != 0 ||
      ::pipe2(from.data(), O_CLOEXEC) != 0) {
    return fail(Errc::kInternal, fmt::format("no channel to a reader: {}", std::strerror(errno)));
  }
  ForeignReader reader;
  reader.to_ = to[1];
  reader.from_ = from[0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  // A group of its own: Ctrl-C at the terminal is for us, who end the reader in our time.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  std::array<char*, 2> argv{program.data(), nullptr};
  const int error =
      ::posix_spawn(&reader.pid_, program.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  if (error != 0) {
    reader.pid_ = 0;
    return fail(Errc::kUnavailable, fmt::format("{}: {}; build the target plimsoll-vault-reader",
                                                program, std::strerror(error)));
  }
  // By standard input: everybody may read a command line, and a dsn may hold a password. It fits
  // into the socket's buffer, so this does not wait for the reader.
  const std::string input = fmt::format("{}\n{} {}\n", dsn, seed, secrets);
  if (::send(reader.to_, input.data(), input.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(input.size())) {
    return fail(Errc::kInternal, "the foreign reader does not take its input");
  }
  const auto first = reader.line();
  if (!first) return fail(first.error());
  if (*first != "reading") return fail(Errc::kInternal, "the foreign reader: " + *first);
  return reader;
}

ForeignReader::ForeignReader(ForeignReader&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)) {}

ForeignReader::~ForeignReader() {
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<std::string> ForeignReader::line() {
  std::string text;
  const TimePoint until = Clock::now() + kPatience;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd readable{from_, POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(std::max(left.count(), 0L)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      return fail(Errc::kTimeout,
                  fmt::format("the foreign reader says nothing for {} s", kPatience.count()));
    }
    char c = 0;
    if (ready < 0 || ::read(from_, &c, 1) != 1) break;
    if (c == '\n') return text;
    text += c;
  }
  return fail(Errc::kInternal, "the foreign reader ended without an answer");
}

Result<ForeignCounts> ForeignReader::stop() {
  ::close(std::exchange(to_, -1));  // The end of its input tells it to stop.
  const auto answer = line();
  if (!answer) return fail(answer.error());
  ForeignCounts counts;
  std::istringstream words(*answer);
  words >> counts.right >> counts.unknown_key >> counts.torn >> counts.wrong >> counts.others;
  if (!words) return fail(Errc::kInternal, "the foreign reader: " + *answer);
  int status = 1;
  ::waitpid(std::exchange(pid_, 0), &status, 0);
  if (status != 0)
    return fail(Errc::kInternal, fmt::format("the foreign reader: status {}", status));
  return counts;
}

}  // namespace plimsoll::bench
