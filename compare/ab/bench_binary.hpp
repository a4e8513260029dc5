#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compare/ab/engine.hpp"
#include "compare/ab/process.hpp"
#include "compare/model.hpp"
#include "lib/core/rng.hpp"

namespace plimsoll::compare {

/// Which orders a benchmark binary understands.
enum class Dialect {
  kOurs,         ///< bench/harness: --plimsoll_ops fixes the work.
  kPlainNumber,  ///< Google Benchmark up to 1.8.3: --benchmark_min_time=0.04
  kPlainSuffix,  ///< From 1.8.4 on, where the file names the library's version:
                 ///< --benchmark_min_time=0.04s
};

/// The extended regular expression that finds this name and no other.
[[nodiscard]] std::string exact_filter(std::string_view name);

/// One sample process to be run.
struct SampleOrder {
  Dialect dialect = Dialect::kOurs;
  std::string benchmark;
  std::uint64_t operations = 0;  ///< kOurs only.
  int repetitions = 4;
  std::chrono::milliseconds repetition{40};  ///< The plain dialects only.
  std::string size;                          ///< kOurs only; empty: as the environment says.
  Resource resource = Resource::kUnknown;    ///< As `known` of read_sample.
};

/// The arguments after the program's name; the result goes to `out`.
[[nodiscard]] std::vector<std::string> arguments_of(const SampleOrder& order,
                                                    const std::filesystem::path& out);

/// What a result file says about one benchmark, judged strictly.
struct SampleReading {
  AbSample sample;
  Resource resource = Resource::kUnknown;
  bool gate = true;
  std::string metric;
  double min_effect =
      0;  ///< Of the gating clock in the file's metrics table; 0 when it names none.
  Dialect dialect = Dialect::kPlainNumber;
  bool used_server = false;  ///< The process had a database, whatever the case does with it.
};

/// Errors: kProtocol for a benchmark that is absent; kRejected, with the reason, for one that
/// failed, empty, aggregates only, not finite, or whose server crashed or ledger did not balance;
/// what read_file reports. A plain row whose name asks for no clock is read as `known`, or, where
/// that is kUnknown, as io when it waits for more than a fifth of its time, else as cpu.
[[nodiscard]] Result<SampleReading> read_sample(const std::filesystem::path& file,
                                                const std::string& benchmark,
                                                Resource known = Resource::kUnknown);

/// A benchmark binary of one side. Thread safety: none.
class BenchBinary {
 public:
  struct Options {
    std::map<std::string, std::string> environment;
    std::chrono::milliseconds limit{120'000};
    std::chrono::milliseconds repetition{40};
    int repetitions = 4;
    std::string size;
    std::uint64_t seed = 1;  ///< Of the environment's padding.
  };

  /// `scratch` and `signals` must outlive it.
  BenchBinary(std::filesystem::path path, Options options, const ScratchDirectory& scratch,
              const HeldSignals& signals);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// The names of its benchmarks, as its result file will have them. Errors: kRejected with what it
  /// printed.
  [[nodiscard]] Result<std::vector<std::string>> list();

  /// Finds out how long one operation takes and returns a task whose repetitions take about
  /// `repetition`, and the dialect. At most 8 short processes. Errors: as `run`.
  struct Calibrated {
    AbTask task;
    Dialect dialect = Dialect::kOurs;
    bool gate = true;
    bool used_server = false;
  };
  [[nodiscard]] Result<Calibrated> calibrate(const AbTarget& target);

  /// One sample process, with its environment padded by a random length: where the stack begins
  /// moves with it, and so does luck with the layout of memory. Errors: kRejected with the reason,
  /// kCancelled, kNotFound.
  [[nodiscard]] Result<SampleReading> run(const SampleOrder& order);

 private:
  [[nodiscard]] Result<ProcessEnd> launch(std::vector<std::string> arguments);
  [[nodiscard]] std::string failure_of(const ProcessEnd& end) const;

  std::filesystem::path path_;
  Options options_;
  const ScratchDirectory& scratch_;
  const HeldSignals& signals_;
  Rng rng_;
  bool maybe_ours_ = true;
};

}  // namespace plimsoll::compare
