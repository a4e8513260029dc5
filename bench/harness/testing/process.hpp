#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace plimsoll::bench::testing {

struct Ended {
  int exit_code = -1;  ///< -1 when a signal ended it.
  int signal = 0;
  std::string out;
  std::string err;
};

/// A child process with its output in temporary files, or its standard output in a file that is
/// named. Ends the test program when it cannot be started.
class Process {
 public:
  Process(const std::string& program, const std::vector<std::string>& arguments,
          const std::map<std::string, std::string>& environment = {},
          const std::string& standard_output = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  [[nodiscard]] Ended wait();

 private:
  pid_t pid_ = -1;
  std::string out_path_;
  std::string err_path_;
};

/// The probe binary (probe_bench.cpp), at short size unless told otherwise, to its end.
[[nodiscard]] Ended run_probe(const std::vector<std::string>& arguments,
                              const std::map<std::string, std::string>& environment = {});

/// The same with its standard output in the file or device of this name.
[[nodiscard]] Ended run_probe_into(const std::string& standard_output,
                                   const std::vector<std::string>& arguments);

/// A directory for one test, removed with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace plimsoll::bench::testing
