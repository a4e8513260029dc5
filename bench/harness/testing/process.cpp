#include "bench/harness/testing/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace plimsoll::bench::testing {
namespace {

std::string temporary_file() {
  std::string path = (std::filesystem::temp_directory_path() / "plimsoll-probe-XXXXXX").string();
  const int fd = mkstemp(path.data());
  if (fd < 0) std::abort();
  close(fd);
  return path;
}

/// What is inherited, without what would change the probe's behaviour, and with the test's own.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& own) {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string entry = *each;
    const bool is_ours = entry.starts_with("PLIMSOLL_") || entry.starts_with("BENCHMARK_") ||
                         entry.starts_with("PROBE_");
    if (!is_ours) all.push_back(entry);
  }
  for (const auto& [name, value] : own) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> made;
  for (std::string& text : texts) made.push_back(text.data());
  made.push_back(nullptr);
  return made;
}

}  // namespace

Process::Process(const std::string& program, const std::vector<std::string>& arguments,
                 const std::map<std::string, std::string>& environment,
                 const std::string& standard_output)
    : out_path_(temporary_file()), err_path_(temporary_file()) {
  std::vector<std::string> all{program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_with(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string& out = standard_output.empty() ? out_path_ : standard_output;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_TRUNC, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_path_.c_str(), O_WRONLY | O_TRUNC,
                                   0);
  const int failed = posix_spawn(&pid_, program.c_str(), &actions, nullptr, pointers(all).data(),
                                 pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) std::abort();
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::filesystem::remove(out_path_);
  std::filesystem::remove(err_path_);
}

void Process::signal(int number) const { kill(pid_, number); }

Ended Process::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) {
  }
  pid_ = -1;
  Ended ended;
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.out = read_file(out_path_);
  ended.err = read_file(err_path_);
  return ended;
}

Ended run_probe(const std::vector<std::string>& arguments,
                const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> all = environment;
  all.emplace("PROBE_PLUGIN", PLIMSOLL_PLUGIN);
  return Process(PLIMSOLL_PROBE, arguments, all).wait();
}

Ended run_probe_into(const std::string& standard_output,
                     const std::vector<std::string>& arguments) {
  return Process(PLIMSOLL_PROBE, arguments, {{"PROBE_PLUGIN", PLIMSOLL_PLUGIN}}, standard_output)
      .wait();
}

TemporaryDirectory::TemporaryDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "plimsoll-harness-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace plimsoll::bench::testing
