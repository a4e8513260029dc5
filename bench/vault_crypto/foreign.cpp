#include "bench/vault_crypto/foreign.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

extern "C" char** environ;  // NOLINT: POSIX declares it nowhere.

namespace plimsoll::bench {

Result<ForeignReader> ForeignReader::start(const std::string& dsn, std::uint64_t seed,
                                           std::size_t secrets) {
  std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "plimsoll-vault-reader";
  std::array<int, 2> to{}, from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) {
    return fail(Errc::kInternal, fmt::format("pipe: {}", std::strerror(errno)));
  }
  ForeignReader reader;
  reader.to_ = to[1];
  reader.from_ = from[0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::array<char*, 2> argv{program.data(), nullptr};
  const int error =
      ::posix_spawn(&reader.pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  if (error != 0) {
    reader.pid_ = 0;
    return fail(Errc::kUnavailable, fmt::format("{}: {}; build the target plimsoll-vault-reader",
                                                program, std::strerror(error)));
  }
  // By standard input: everybody may read a command line, and a dsn may hold a password. It fits
  // into the pipe's buffer, so this does not wait for the reader.
  const std::string input = fmt::format("{}\n{} {}\n", dsn, seed, secrets);
  if (::write(reader.to_, input.data(), input.size()) != static_cast<ssize_t>(input.size())) {
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
  for (char c = 0; ::read(from_, &c, 1) == 1;) {
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
