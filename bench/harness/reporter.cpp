#include "bench/harness/reporter.hpp"

#include <algorithm>

#include "bench/harness/progress.hpp"
#include "bench/harness/registry.hpp"

namespace plimsoll::bench {

Reporter::Reporter(const Session& session, Console* console, std::size_t cases)
    : session_(session), console_(console), cases_(cases) {}

Result<void> Reporter::write_to(const std::string& path) {
  auto file = JsonFile::create(path, document(false));
  if (!file) return fail(file.error());
  file_ = std::move(*file);
  return {};
}

bool Reporter::ReportContext(const Context&) {
  if (console_ != nullptr) console_->begin(session_, cases_);
  return true;
}

void Reporter::ReportRuns(const std::vector<Run>& runs) {
  // Google Benchmark hands over all repetitions of one case, and then its aggregates, which are
  // computed anew here.
  std::vector<Row> rows;
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration) return;
    const auto* record = Registry::instance().record_of(
        run.run_name.function_name, static_cast<std::size_t>(run.repetition_index),
        static_cast<std::size_t>(run.repetitions));
    Row row = row_of(run, record);
    if (!row.record.interrupted) rows.push_back(std::move(row));
  }
  if (runs.empty()) return;
  Registry::instance().forget(runs.front().run_name.function_name);
  progress().end_case();
  // Also where some of its repetitions had ended: they are kept, and the case is not whole.
  if (rows.size() < runs.size()) ++tally_.interrupted;
  if (rows.empty()) return;
  count(rows);
  if (console_ != nullptr) console_->show(rows);
  for (const Row& row : rows) rows_.push_back(to_json(row));
  for (const Row& row : aggregates_of(rows)) rows_.push_back(to_json(row));
  save(false);
}

void Reporter::count(const std::vector<Row>& rows) {
  ++tally_.cases;
  const auto failed = [](const Row& row) { return row.error.has_value(); };
  const auto doubtful = [](const Row& row) { return row.record.verdict != "VALID"; };
  if (std::any_of(rows.begin(), rows.end(), failed)) {
    ++tally_.failed;
  } else if (std::any_of(rows.begin(), rows.end(), doubtful)) {
    ++tally_.not_valid;
  }
}

Json Reporter::document(bool complete) const {
  return {{"context", session_.context(context_, complete)}, {"benchmarks", rows_}};
}

void Reporter::save(bool complete) {
  if (!file_ || write_error_) return;
  if (const auto written = file_->replace(document(complete)); !written)
    write_error_ = written.error();
}

Result<void> Reporter::finish() {
  save(tally_.interrupted == 0);
  if (console_ != nullptr) console_->end(tally_, file_ ? file_->path() : std::string());
  if (write_error_) return fail(*write_error_);
  return {};
}

}  // namespace plimsoll::bench
