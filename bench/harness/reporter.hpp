#pragma once

#include <benchmark/benchmark.h>

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/console.hpp"
#include "bench/harness/json_file.hpp"
#include "bench/harness/row.hpp"
#include "bench/harness/session.hpp"

namespace plimsoll::bench {

/// Takes every row from Google Benchmark, judges it, and gives it to the table and the result file.
/// It is registered as the display reporter and writes the file itself: Google Benchmark would open
/// it (and cut an old one to nothing) before the first case ran, and would print NaN as it is.
class Reporter final : public benchmark::BenchmarkReporter {
 public:
  /// `console` may be null (--benchmark_format=json).
  Reporter(const Session& session, Console* console, std::size_t cases);

  /// Begins the result file: until `finish`, whatever it holds says `complete: false`. Errors: see
  /// JsonFile::create.
  [[nodiscard]] Result<void> write_to(const std::string& path);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;

  /// Ends table and file. Errors: the first write that failed.
  [[nodiscard]] Result<void> finish();

  [[nodiscard]] const Tally& tally() const noexcept { return tally_; }
  [[nodiscard]] Json document(bool complete) const;

 private:
  void count(const std::vector<Row>& rows);
  void save(bool complete);

  const Session& session_;
  Console* console_;
  std::size_t cases_;
  Context context_;
  std::optional<JsonFile> file_;
  std::optional<Error> write_error_;
  Json rows_ = Json::array();
  Tally tally_;
};

}  // namespace plimsoll::bench
