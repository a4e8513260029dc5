#include "lib/load/process_tree.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "lib/load/proc_file.hpp"

namespace plimsoll::load {
namespace {

// Places of the fields of /proc/<pid>/stat that follow the command's name, the state being 0.
enum Field : std::size_t {
  kState = 0,
  kParent = 1,
  kUser = 11,
  kSystem = 12,
  kChildrenUser = 13,
  kChildrenSystem = 14,
  kThreads = 17,
  kStart = 19,
  kRss = 21,
  kFields = 22,
};

constexpr int kThreadDaemon = 2;  // The parent of all kernel threads.

std::vector<int> numbers_in(const std::string& directory) {
  std::vector<int> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  if (!open) return numbers;
  while (const dirent* entry = ::readdir(open.get())) {
    if (const auto number = parse_number(entry->d_name)) {
      numbers.push_back(static_cast<int>(*number));
    }
  }
  return numbers;
}

std::optional<double> open_files(int pid) {
  const std::string directory = fmt::format("/proc/{}/fd", pid);
  // Since Linux 6.2 the directory's size is the number of open files; before, it is 0.
  struct stat info {};
  if (::access(directory.c_str(), R_OK) != 0 || ::stat(directory.c_str(), &info) != 0) {
    return std::nullopt;
  }
  if (info.st_size > 0) return static_cast<double>(info.st_size);
  return static_cast<double>(numbers_in(directory).size());
}

std::optional<ProcessStat> read_coarse(int pid) {
  const auto line = read_proc(fmt::format("/proc/{}/stat", pid));
  return line ? parse_process_stat(*line) : std::nullopt;
}

/// With one thread that has always been alone, the scheduler's own sum is the process's:
/// nanoseconds instead of ticks, which over a hundred backends would err by more than what is to be
/// seen. What threads used that have ended is in the ticks only, and shows as more than their
/// rounding.
void refine(ProcessStat& process) {
  if (process.threads != 1) return;
  const auto schedstat = read_proc(fmt::format("/proc/{}/schedstat", process.pid));
  if (!schedstat) return;
  const auto fields = split_fields(*schedstat);
  const auto run = fields.empty() ? std::nullopt : parse_number(fields[0]);
  if (!run || *run <= 0) return;
  const double alone = static_cast<double>(*run) * 1e-9;
  if (process.cpu_seconds - alone < 2.0 / ticks_per_second()) process.cpu_seconds = alone;
}

bool sees_kernel_threads() {
  const auto line = read_proc(fmt::format("/proc/{}/stat", kThreadDaemon));
  return line && line->find("(kthreadd)") != std::string::npos;
}

/// Every process of the trees once, in no order. A child that ends meanwhile is left out.
std::vector<ProcessStat> collect(std::vector<int> waiting, bool descend) {
  std::vector<ProcessStat> found;
  std::set<int> seen;
  while (!waiting.empty()) {
    const int pid = waiting.back();
    waiting.pop_back();
    if (!seen.insert(pid).second) continue;
    if (descend) {
      for (const int child : children_of(pid)) waiting.push_back(child);
    }
    if (const auto process = read_process_stat(pid)) found.push_back(*process);
  }
  return found;
}

double cpu_of(const std::vector<ProcessStat>& processes) {
  double seconds = 0;
  for (const auto& process : processes) seconds += process.cpu_seconds + process.reaped_seconds;
  return seconds;
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  const std::size_t name_end = line.rfind(')');
  const auto pid = parse_number(line.substr(0, line.find(' ')));
  if (!pid || name_end == std::string_view::npos) return std::nullopt;
  const auto fields = split_fields(line.substr(name_end + 1));
  if (fields.size() < kFields) return std::nullopt;
  const auto number = [&](Field field) { return parse_number(fields[field]).value_or(0); };
  const auto seconds = [&](Field a, Field b) {
    return static_cast<double>(number(a) + number(b)) / ticks_per_second();
  };
  static const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return ProcessStat{.pid = static_cast<int>(*pid),
                     .parent = static_cast<int>(number(kParent)),
                     .state = fields[kState][0],
                     .start_ticks = number(kStart),
                     .threads = number(kThreads),
                     .rss_bytes = static_cast<double>(number(kRss)) * page,
                     .cpu_seconds = seconds(kUser, kSystem),
                     .reaped_seconds = seconds(kChildrenUser, kChildrenSystem)};
}

std::optional<ProcessStat> read_process_stat(int pid) {
  auto process = read_coarse(pid);
  if (process) refine(*process);
  return process;
}

std::vector<int> children_of(int pid) {
  std::vector<int> children;
  // Any thread may have forked, and the kernel lists children by thread.
  for (const int thread : numbers_in(fmt::format("/proc/{}/task", pid))) {
    const auto list = read_proc(fmt::format("/proc/{}/task/{}/children", pid, thread));
    if (!list) continue;
    for (const auto& word : split_fields(*list)) {
      if (const auto child = parse_number(word)) children.push_back(static_cast<int>(*child));
    }
  }
  return children;
}

double kernel_threads_cpu() {
  if (!sees_kernel_threads()) return 0;
  return cpu_of(collect({kThreadDaemon}, true));
}

double trees_cpu(const std::vector<int>& roots) { return cpu_of(collect(roots, true)); }

std::optional<double> others_cpu(const std::vector<int>& roots) {
  if (!sees_kernel_threads()) return std::nullopt;
  std::map<int, ProcessStat> all;
  for (const int pid : numbers_in("/proc")) {
    if (const auto process = read_coarse(pid)) all.emplace(pid, *process);
  }
  std::set<int> known(roots.begin(), roots.end());
  known.insert(kThreadDaemon);
  double seconds = 0;
  for (auto& [pid, process] : all) {
    int ancestor = pid;
    while (ancestor > 0 && !known.contains(ancestor)) {
      const auto found = all.find(ancestor);
      ancestor = found == all.end() ? 0 : found->second.parent;
    }
    if (ancestor > 0) continue;
    refine(process);
    seconds += process.cpu_seconds + process.reaped_seconds;
  }
  return seconds;
}

Result<ProcessTree> ProcessTree::open(int pid, Scope scope) {
  const auto process = pid > 0 ? read_process_stat(pid) : std::nullopt;
  if (!process || !process->running()) {
    return fail(Errc::kNotFound, fmt::format("no process {} is running", pid));
  }
  return ProcessTree(*process, scope);
}

bool ProcessTree::alive() const {
  const auto now = read_process_stat(root_.pid);
  return now && now->running() && now->start_ticks == root_.start_ticks;
}

ProcessTree::Reading ProcessTree::read(bool thorough) {
  Reading reading;
  if (!alive()) return reading;
  const auto processes = collect({root_.pid}, scope_ == Scope::kDescendants);
  reading.cpu_seconds = scope_ == Scope::kDescendants ? cpu_of(processes) : 0;
  for (const auto& process : processes) {
    if (scope_ == Scope::kProcess) reading.cpu_seconds += process.cpu_seconds;
    if (!process.running()) continue;
    reading.processes += 1;
    reading.rss_bytes += process.rss_bytes;
    reading.threads += static_cast<double>(process.threads);
    if (const auto fds = open_files(process.pid)) reading.fds = reading.fds.value_or(0) + *fds;
    if (thorough) read_thoroughly(process, reading);
  }
  if (!thorough) return reading;
  for (const auto& [key, count] : switches_) {
    reading.voluntary_switches += count.voluntary;
    reading.involuntary_switches += count.involuntary;
  }
  return reading;
}

void ProcessTree::read_thoroughly(const ProcessStat& process, Reading& reading) {
  constexpr std::uint64_t kKibibyte = 1024;
  const std::string directory = fmt::format("/proc/{}/", process.pid);
  if (const auto rollup = read_proc(directory + "smaps_rollup")) {
    if (const auto pss = find_number(*rollup, "Pss:")) {
      reading.pss_bytes = reading.pss_bytes.value_or(0) + static_cast<double>(*pss * kKibibyte);
    }
  }
  // The kernel adds the figures of waited-for children to their parent's, so nothing is lost here.
  if (const auto io = read_proc(directory + "io")) {
    reading.read_bytes += find_number(*io, "read_bytes:").value_or(0);
    reading.written_bytes += find_number(*io, "write_bytes:").value_or(0);
  }
  Switches& last = switches_[{process.pid, process.start_ticks}];
  Switches now;
  for (const int thread : numbers_in(directory + "task")) {
    const auto status = read_proc(fmt::format("{}task/{}/status", directory, thread));
    if (!status) continue;
    now.voluntary += find_number(*status, "voluntary_ctxt_switches:").value_or(0);
    now.involuntary += find_number(*status, "nonvoluntary_ctxt_switches:").value_or(0);
  }
  // A thread that ended takes its count away; the sum must not fall.
  last.voluntary = std::max(last.voluntary, now.voluntary);
  last.involuntary = std::max(last.involuntary, now.involuntary);
}

}  // namespace plimsoll::load
