#include "bench/harness/testing/load_cases.hpp"

#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "bench/harness/case.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::bench::testing {
namespace {

using std::chrono::milliseconds;

/// As if a closed run had done so many operations of 1 ms in one second, with 0.3 s of CPU.
load::Report report_of(std::uint64_t operations) {
  load::Report report;
  report.ledger.planned = report.ledger.started = report.ledger.ok = operations;
  for (std::uint64_t i = 0; i < operations; ++i) report.service.record(milliseconds(1));
  report.response = report.service;
  report.window = std::chrono::seconds(1);
  report.completed = report.items = operations;
  report.own.cpu_seconds = 0.3;
  return report;
}

void register_report(const std::string& name, std::function<void(load::Report&)> change) {
  load_case("probe/load/" + name, [change = std::move(change)](Case& c) {
    load::Report report = report_of(3000);
    change(report);
    c.report(report);
  });
}

asio::awaitable<load::Outcome> wait_a_little(load::OpContext) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, milliseconds(1));
  co_await timer.async_wait(kAsValue);
  co_return load::Outcome{};
}

void run_for_real(Case& c) {
  load::SubjectThread subject;
  load::Options options;
  options.concurrency = 4;
  options.fixed_operations = c.fixed_operations();
  options.warmup_cap = milliseconds(0);
  options.warmup_floor = milliseconds(0);
  options.window = milliseconds(100);
  const auto report = load::run(options, subject.executor(), wait_a_little);
  if (!report) return c.fail(report.error());
  c.report(*report);
}

}  // namespace

void register_load_cases() {
  register_report("good", [](load::Report&) {});
  register_report("few", [](load::Report& report) { report = report_of(50); });
  register_report("open", [](load::Report& report) {
    report.mode = load::Mode::kOpenSkip;
    report.lag = report.service;
  });
  register_report("failures", [](load::Report& report) {
    report.ledger.failed = 2;
    report.ledger.failed_by["40001"] = 2;
  });
  register_report("contended", [](load::Report& report) {
    report.validity.add(load::Verdict::kHostContended, "a neighbour");
  });
  register_report("crashed", [](load::Report& report) {
    report.validity.add(load::Verdict::kHostContended, "a neighbour");
    report.validity.add(load::Verdict::kServerCrashed, "the server went away");
  });
  register_report("unbalanced", [](load::Report& report) {
    report.validity.add(load::Verdict::kUnbalanced, "one too many");
  });
  register_report("nothing", [](load::Report& report) { report.completed = 0; });
  load_case("probe/load/twice", [](Case& c) {
    c.report(report_of(3000));
    c.report(report_of(3000));
  });
  load_case("probe/load/real", run_for_real, {Resource::kIo, true});
  cpu_case("probe/load/in_a_loop", [](Case& c) {
    for (auto _ : c.state()) {
    }
    c.report(report_of(3000));
  });
  work_case("probe/work/counts", [](Case& c) {
    c.counter("statements_per_op", 3);
    c.invariant("lost", 0);
  });
  work_case("probe/work/silent", [](Case&) {});
  work_case("probe/work/elsewhere", [](Case& c) { c.not_applicable("not our server"); });
}

}  // namespace plimsoll::bench::testing
