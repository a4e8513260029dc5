#include "compare/ab/bench_binary.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <regex>
#include <sstream>
#include <system_error>

#include "compare/read/reader.hpp"

namespace plimsoll::compare {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr int kCalibrations = 8;
constexpr std::uint64_t kMostOperations = 1'000'000'000;
constexpr std::uint64_t kPadding = 4096;
constexpr double kBusy = 0.8;  ///< Share of its time that a CPU case spends on a CPU, at least.

/// From 1.8.4 on the file says which library wrote it, and the library asks for a unit.
bool names_library_version(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string head(16384, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  static const std::regex version("\"library_version\"\\s*:\\s*\"v?(\\d+)\\.(\\d+)");
  std::smatch found;
  if (!std::regex_search(head, found, version)) return false;
  const int major = std::stoi(found[1].str().substr(0, 4));
  const int minor = std::stoi(found[2].str().substr(0, 4));
  return major > 1 || minor >= 8;
}

/// What a plain row is that does not name a clock: one that waits, where its wall time is well
/// above its CPU time. A busy machine can show that of any row, which wall time then still holds
/// true for.
Resource resource_of(const Run& run, Resource known) {
  if (run.resource != Resource::kUnknown) return run.resource;
  if (known != Resource::kUnknown) return known;
  const MetricSpec lower{"ns", Better::kLower, MetricClass::kTime, 0, 0};
  const double cpu = session_statistic(run, "cpu_time", lower);
  const double real = session_statistic(run, "real_time", lower);
  return cpu < kBusy * real ? Resource::kIo : Resource::kCpu;
}

const Run* find_run(const std::vector<Session>& sessions, const std::string& benchmark,
                    const Session*& of) {
  for (const Session& session : sessions) {
    for (const Run& run : session.runs) {
      if (run.name != benchmark) continue;
      of = &session;
      return &run;
    }
  }
  return nullptr;
}

/// Why the run is no sample; empty when it is one.
std::string fault_of(const Run& run) {
  if (!run.errors.empty()) return run.errors.front();
  if (!run.skips.empty()) return "skipped: " + run.skips.front();
  if (run.aggregates_only) return "only aggregates were written";
  if (run.validity == Validity::kServerCrashed || run.validity == Validity::kUnbalanced) {
    return fmt::format("{}{}", name(run.validity),
                       run.validity_reasons.empty() ? "" : ": " + run.validity_reasons.front());
  }
  for (const auto& [invariant, count] : run.invariants) {
    if (count.value != count.expected) {
      return fmt::format("invariant {} is {:g}, expected {:g}", invariant, count.value,
                         count.expected);
    }
  }
  return "";
}

}  // namespace

std::string exact_filter(std::string_view name) {
  std::string filter = "^";
  for (const char c : name) {
    // Each of these, and no other, may be escaped in every grammar that Google Benchmark is built
    // with.
    if (std::string_view("\\^$.|?*+()[{").find(c) != std::string_view::npos) filter += '\\';
    filter += c;
  }
  return filter + "$";
}

std::vector<std::string> arguments_of(const SampleOrder& order, const std::filesystem::path& out) {
  std::vector<std::string> arguments{
      "--benchmark_filter=" + exact_filter(order.benchmark),
      fmt::format("--benchmark_repetitions={}", order.repetitions),
      "--benchmark_out=" + out.string(),
      "--benchmark_out_format=json",
  };
  const double seconds = duration<double>(order.repetition).count();
  switch (order.dialect) {
    case Dialect::kOurs:
      arguments.push_back(fmt::format("--plimsoll_ops={}", order.operations));
      if (!order.size.empty()) arguments.push_back("--plimsoll_size=" + order.size);
      break;
    case Dialect::kPlainNumber:
      arguments.push_back(fmt::format("--benchmark_min_time={:g}", seconds));
      break;
    case Dialect::kPlainSuffix:
      arguments.push_back(fmt::format("--benchmark_min_time={:g}s", seconds));
      break;
  }
  return arguments;
}

Result<SampleReading> read_sample(const std::filesystem::path& file, const std::string& benchmark,
                                  Resource known) {
  const auto sessions = read_file(file);
  if (!sessions) return fail(sessions.error());
  const Session* session = nullptr;
  const Run* found = find_run(*sessions, benchmark, session);
  if (found == nullptr) return fail(Errc::kProtocol, "it reported no row named " + benchmark);
  if (const std::string fault = fault_of(*found); !fault.empty())
    return fail(Errc::kRejected, fault);

  Run run = *found;
  run.resource = resource_of(run, known);
  SampleReading reading;
  reading.resource = run.resource;
  reading.gate = run.gate;
  reading.used_server = !session->facts.settings_hash.empty();
  reading.metric = gating_clock(run.resource);
  reading.dialect = session->facts.ours           ? Dialect::kOurs
                    : names_library_version(file) ? Dialect::kPlainSuffix
                                                  : Dialect::kPlainNumber;
  const MetricSpec spec = spec_of(session->metrics, reading.metric);
  reading.min_effect = spec.min_effect;
  reading.sample.validity = run.validity;
  reading.sample.gated_ns = session_statistic(run, reading.metric, spec);
  reading.sample.real_ns =
      session_statistic(run, "real_time", spec_of(session->metrics, "real_time"));
  for (const double ns : {reading.sample.gated_ns, reading.sample.real_ns}) {
    if (std::isfinite(ns) && ns > 0) continue;
    return fail(Errc::kRejected, fmt::format("it reported no time above 0 ({:g} ns)", ns));
  }
  return reading;
}

BenchBinary::BenchBinary(std::filesystem::path path, Options options,
                         const ScratchDirectory& scratch, const HeldSignals& signals)
    : path_(std::move(path)),
      options_(std::move(options)),
      scratch_(scratch),
      signals_(signals),
      rng_(options_.seed) {}

Result<ProcessEnd> BenchBinary::launch(std::vector<std::string> arguments) {
  // What ctest or a user set for runs of his own must not reach a sample; the flags say everything.
  std::map<std::string, std::string> changes{{"PLIMSOLL_GATED", ""}};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view pair(*entry);
    if (pair.starts_with("BENCHMARK_")) changes[std::string(pair.substr(0, pair.find('=')))] = "";
  }
  changes["PLIMSOLL_AB_PAD"] = std::string(1 + rng_.below(kPadding), 'x');
  for (const auto& [name, value] : options_.environment) changes[name] = value;

  ProcessSpec spec;
  spec.argv = {path_.string()};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.environment = environment_with(changes);
  spec.output = scratch_.path() / "stdout";
  spec.errors = scratch_.path() / "stderr";
  spec.limit = options_.limit;
  return run_process(spec, signals_);
}

std::string BenchBinary::failure_of(const ProcessEnd& end) const {
  std::string said = tail_of(scratch_.path() / "stderr", 3);
  if (said.empty()) said = tail_of(scratch_.path() / "stdout", 3);
  std::replace(said.begin(), said.end(), '\n', ';');
  return fmt::format("{}{}", end.describe(), said.empty() ? "" : ": " + said);
}

Result<std::vector<std::string>> BenchBinary::list() {
  // A plain binary refuses our flag; one whose main ignores unknown flags lists all the same. Some
  // cases exist in one size only.
  std::vector<std::string> arguments{"--benchmark_list_tests=true", "--plimsoll_list"};
  if (!options_.size.empty()) arguments.push_back("--plimsoll_size=" + options_.size);
  auto end = launch(arguments);
  if (!end) return fail(end.error());
  if (!end->ok()) {
    maybe_ours_ = false;
    end = launch({"--benchmark_list_tests=true"});
    if (!end) return fail(end.error());
  }
  if (!end->ok()) {
    return fail(Errc::kRejected,
                fmt::format("{} cannot list its benchmarks: {}", path_.string(), failure_of(*end)));
  }
  std::vector<std::string> names;
  std::ifstream stream(scratch_.path() / "stdout");
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

Result<SampleReading> BenchBinary::run(const SampleOrder& order) {
  const auto out = scratch_.path() / "result.json";
  std::error_code ignored;
  std::filesystem::remove(out,
                          ignored);  // What an earlier process wrote must not pass for this one's.
  const auto end = launch(arguments_of(order, out));
  if (!end) return fail(end.error());
  auto reading = read_sample(out, order.benchmark, order.resource);
  if (!reading && reading.error().code == Errc::kProtocol && !end->ok()) {
    return fail(Errc::kRejected, fmt::format("{}; {}", reading.error().message, failure_of(*end)));
  }
  if (end->ok()) return reading;
  // A failed row says more than the exit code that it caused.
  const bool row_says_why = !reading && reading.error().code == Errc::kRejected && !end->timed_out;
  return fail(Errc::kRejected, row_says_why
                                   ? fmt::format("{}: {}", end->describe(), reading.error().message)
                                   : failure_of(*end));
}

Result<BenchBinary::Calibrated> BenchBinary::calibrate(const AbTarget& target) {
  SampleOrder order;
  order.dialect = maybe_ours_ ? Dialect::kOurs : Dialect::kPlainNumber;
  order.benchmark = target.benchmark;
  order.operations = 1;
  order.repetitions = 1;
  order.repetition = milliseconds(1);
  order.size = options_.size;
  auto reading = run(order);
  if (!reading) return fail(reading.error());

  const double wanted_ns = duration<double, std::nano>(options_.repetition).count();
  for (int i = 1; reading->dialect == Dialect::kOurs && i < kCalibrations; ++i) {
    const double spent_ns = reading->sample.real_ns * static_cast<double>(order.operations);
    const double factor = std::clamp(wanted_ns / spent_ns, 1.0 / 100, 100.0);
    const double operations = std::ceil(static_cast<double>(order.operations) * factor);
    order.operations =
        std::clamp<std::uint64_t>(static_cast<std::uint64_t>(operations), 1, kMostOperations);
    if (spent_ns > wanted_ns / 2) break;  // Near enough to reckon the rest.
    reading = run(order);
    if (!reading) return fail(reading.error());
  }
  Calibrated calibrated;
  calibrated.dialect = reading->dialect;
  calibrated.gate = reading->gate;
  calibrated.used_server = reading->used_server;
  calibrated.task.target = target;
  calibrated.task.resource = reading->resource;
  calibrated.task.metric = reading->metric;
  calibrated.task.min_effect = reading->min_effect;
  calibrated.task.operations = reading->dialect == Dialect::kOurs ? order.operations : 0;
  return calibrated;
}

}  // namespace plimsoll::compare
