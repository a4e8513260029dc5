#include "bench/harness/run.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>

#include "bench/harness/infra.hpp"
#include "bench/harness/interrupt.hpp"
#include "bench/harness/progress.hpp"
#include "bench/harness/registry.hpp"
#include "bench/harness/reporter.hpp"

namespace plimsoll::bench {
namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kGateClosed = 77;
constexpr int kSignalled = 128;

int refuse(std::string_view group, const std::string& reason, int code) {
  std::fputs(fmt::format("bench_{}: {}\n", group, reason).c_str(), stderr);
  return code;
}

/// `code`, unless what should be on stdout is not all there, which no success can be.
int unless_stdout_failed(int code, std::string_view group) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return refuse(group, "stdout cannot be written to (is its disk full?): the output is not whole",
                code == kOk ? kFailed : code);
}

/// Google Benchmark's own usage ends the process with 0, also over a bad value; this takes its
/// place.
void refuse_for_google() {
  std::fputs("Google Benchmark refuses a flag's value; --plimsoll_help lists the flags\n", stderr);
  std::exit(kUsage);
}

/// Gives Google Benchmark the flags that are its own. The ones taken over get neutral values, since
/// it would read them from the environment. Returns what it left over: flags that it knows with
/// values that it does not.
///
/// Google Benchmark keeps a pointer to the program's name, so the arguments live as long as the
/// process.
std::vector<std::string> initialize_google(const char* program, const Settings& settings) {
  static std::vector<std::string> arguments{program,
                                            "--benchmark_out=", "--benchmark_format=console",
                                            "--benchmark_filter=", "--benchmark_list_tests=false"};
  arguments.insert(arguments.end(), settings.passed_on.begin(), settings.passed_on.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data(), refuse_for_google);
  return {pointers.begin() + 1, pointers.begin() + count};
}

int list(const std::vector<const RegisteredCase*>& selected) {
  for (const RegisteredCase* each : selected) std::puts(each->name.c_str());
  return kOk;
}

int exit_code(const Reporter& reporter) {
  if (const int signal = interrupting_signal(); signal != 0) return kSignalled + signal;
  const Tally& tally = reporter.tally();
  return tally.failed > 0 || tally.cases == 0 ? kFailed : kOk;
}

int measure(const std::vector<const RegisteredCase*>& selected, std::string_view group,
            const Settings& settings) {
  const Session session{std::string(group), settings};
  Console console(
      stdout, use_colours(settings.colour, process_environment(), ::isatty(STDOUT_FILENO) == 1));
  Reporter reporter(session, settings.json_to_stdout ? nullptr : &console, selected.size());
  if (!settings.out.empty()) {
    if (const auto begun = reporter.write_to(settings.out); !begun) {
      return refuse(group, fmt::format("--benchmark_out: {}", begun.error().message), kUsage);
    }
  }
  // What cannot be had is said by each case that asks for it; the others run.
  if (postgres_is_needed()) (void)postgres();
  register_with_google(selected, settings);
  handle_interrupts();
  progress().start(selected.size(), ::isatty(STDERR_FILENO) == 1);
  benchmark::RunSpecifiedBenchmarks(&reporter, "all");
  progress().stop();
  const auto finished = reporter.finish();
  if (settings.json_to_stdout) {
    std::fputs(text_of(reporter.document(reporter.tally().interrupted == 0)).c_str(), stdout);
  }
  if (!finished) return refuse(group, finished.error().message, kFailed);
  return exit_code(reporter);
}

int run_to_stdout(int argc, char** argv, std::string_view group, void (*register_all)()) {
  const Environment environment = process_environment();
  if (gate_is_closed(environment)) {
    const std::string skipped = fmt::format(
        "bench_{}: skipped, nothing measured; PLIMSOLL_BENCH=1 ctest -L bench opens the gate\n",
        group);
    std::fputs(skipped.c_str(), stdout);
    return kGateClosed;
  }
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  auto read = read_settings(arguments, environment);
  if (!read) return refuse(group, read.error().message, kUsage);
  use_settings(std::move(*read));
  if (settings().help) {
    std::fputs(usage(argv[0]).c_str(), stdout);
    return kOk;
  }
  const auto left_over = initialize_google(argv[0], settings());
  if (!left_over.empty()) {
    return refuse(group, fmt::format("Google Benchmark cannot use '{}'", fmt::join(left_over, " ")),
                  kUsage);
  }
  register_all();
  if (const auto checked = Registry::instance().check(group); !checked) {
    return refuse(group, checked.error().message, kFailed);
  }
  const auto selected = Registry::instance().select(settings().filter);
  // An empty group has run nothing; a filter that finds nothing is a mistake of whoever typed it.
  if (!selected)
    return refuse(group, selected.error().message,
                  Registry::instance().cases().empty() ? kFailed : kUsage);
  if (settings().list) return list(*selected);
  const int code = measure(*selected, group, settings());
  benchmark::Shutdown();
  return code;
}

}  // namespace

int run(int argc, char** argv, std::string_view group, void (*register_all)()) {
  return unless_stdout_failed(run_to_stdout(argc, argv, group, register_all), group);
}

}  // namespace plimsoll::bench
