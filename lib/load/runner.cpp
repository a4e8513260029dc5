#include "lib/load/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <utility>

#include "lib/load/conductor.hpp"
#include "lib/load/loop.hpp"
#include "lib/load/sampler.hpp"

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;

constexpr auto kSampleInterval = 100ms;
constexpr std::size_t kHighestConcurrency = 1'000'000;

Result<void> check(const Options& options) {
  const auto bad = [](std::string what) { return fail(Errc::kInvalidArgument, std::move(what)); };
  if (options.concurrency == 0 || options.concurrency > kHighestConcurrency) {
    return bad(fmt::format("concurrency is {}; it must be 1 to {}", options.concurrency,
                           kHighestConcurrency));
  }
  if (options.warmup_floor < 0ms || options.warmup_cap < 0ms ||
      (options.warmup_cap > 0ms && options.warmup_floor > options.warmup_cap)) {
    return bad(
        fmt::format("warmup_floor is {} ms and warmup_cap {} ms; the floor must be 0 or more, "
                    "and at most the cap",
                    options.warmup_floor.count(), options.warmup_cap.count()));
  }
  if (options.fixed_operations == 0 && options.window <= 0ms) {
    return bad(fmt::format("window is {} ms; it must be above 0, or fixed_operations be given",
                           options.window.count()));
  }
  if (options.late_limit < 0ms || options.drain_limit < 0ms) {
    return bad(fmt::format("late_limit is {} ms and drain_limit {} ms; neither may be negative",
                           options.late_limit.count(), options.drain_limit.count()));
  }
  if (options.mode != Mode::kClosed) return options.arrivals.check();
  return {};
}

Result<void> check_subject(const asio::any_io_executor& subject, const Operation& operation) {
  if (!operation) return fail(Errc::kInvalidArgument, "operation is empty");
  if (!subject) return fail(Errc::kInvalidArgument, "the subject's executor is empty");
  const auto* io = subject.target<asio::io_context::executor_type>();
  if (io != nullptr && io->running_in_this_thread()) {
    return fail(
        Errc::kInvalidArgument,
        "run was called from the subject's own thread, which it would wait for; call it from "
        "another thread");
  }
  return {};
}

std::shared_ptr<Loop> make_loop(const Options& options, const asio::any_io_executor& subject,
                                Operation operation) {
  return options.mode == Mode::kClosed ? make_closed_loop(options, subject, std::move(operation))
                                       : make_open_loop(options, subject, std::move(operation));
}

asio::awaitable<Outcome> do_nothing(OpContext) { co_return Outcome{}; }

/// What the harness itself costs per operation: CPU time of its two threads in a run of the same
/// shape whose subject does nothing.
Nanoseconds null_cost(const Options& options, const asio::any_io_executor& subject) {
  constexpr std::uint64_t kOperations = 5000;
  constexpr double kLongest = 0.1;  // Seconds, of an open null run.
  constexpr double kLowestRate =
      200;  // A slower plan costs as much per arrival, and takes too long.
  Options null = options;
  null.fixed_operations = std::max<std::uint64_t>(kOperations, 5 * options.concurrency);
  null.start_at = {};
  null.drain_limit = 500ms;
  if (null.mode != Mode::kClosed) {
    null.arrivals = {options.arrivals.law, std::max(options.arrivals.rate, kLowestRate), 0, 1};
    null.fixed_operations =
        std::min(kOperations, static_cast<std::uint64_t>(null.arrivals.rate * kLongest));
  }
  const Nanoseconds before = thread_cpu_time();
  const auto loop = make_loop(null, subject, do_nothing);
  Conductor(null, *loop, nullptr).conduct();
  const Nanoseconds used = thread_cpu_time() - before + loop->subject_cpu();
  const std::uint64_t ended = loop->finish().ended();
  return ended == 0 ? Nanoseconds(0) : used / static_cast<std::int64_t>(ended);
}

void compare_server_count(const Options& options, std::uint64_t before, const Report& report,
                          Facts& facts) {
  const auto after = options.server_count();
  if (!after) {
    facts.server_count_error = after.error().message;
    return;
  }
  Ledger all = report.ledger;
  all.merge(report.warmup);
  facts.server_count = ServerCount{*after - before, all.ok, all.started};
}

void fill_from_sampler(Sampler::Findings findings, Report& report, Facts& facts) {
  report.own = findings.own;
  report.servers = std::move(findings.servers);
  report.host = findings.host;
  facts.server_gone = std::move(findings.gone);
  facts.foreign_cores = findings.host.foreign_cores;
  facts.steal_share = findings.host.steal_share;
}

double harness_share(const Report& report, Nanoseconds window_cpu) {
  if (window_cpu.count() <= 0) return 0;
  const double harness =
      static_cast<double>(report.null_service.count()) * static_cast<double>(report.ledger.started);
  return std::min(1.0, harness / static_cast<double>(window_cpu.count()));
}

}  // namespace

std::string_view name(Mode mode) noexcept {
  switch (mode) {
    case Mode::kClosed:
      return "closed";
    case Mode::kOpenCatchUp:
      return "open-catch-up";
    case Mode::kOpenSkip:
      return "open-skip";
  }
  return "unknown";
}

Result<Report> run(const Options& options, asio::any_io_executor subject,
                   const Operation& operation) {
  if (const auto checked = check(options); !checked) return fail(checked.error());
  if (const auto checked = check_subject(subject, operation); !checked)
    return fail(checked.error());
  Report report;
  report.null_service = null_cost(options, subject);
  std::uint64_t counted_before = 0;
  if (options.server_count) {
    const auto count = options.server_count();
    if (!count) return fail(count.error());
    counted_before = *count;
  }
  auto sampler = Sampler::start(options.server_pids, kSampleInterval);
  if (!sampler) return fail(sampler.error());

  const auto loop = make_loop(options, subject, operation);
  Conductor conductor(options, *loop, &*sampler);
  conductor.conduct();
  const Tally& tally = loop->finish();

  Facts facts;
  tally.fill(report);
  tally.fill(facts);
  fill_from_sampler(sampler->stop(), report, facts);
  if (options.server_count) compare_server_count(options, counted_before, report, facts);
  report.steady = facts.steady = conductor.steady();
  facts.steady_detail = conductor.steady_detail();
  report.harness_share = facts.harness_share = harness_share(report, conductor.window_cpu());
  report.validity = judge(facts, options.limits);
  return report;
}

}  // namespace plimsoll::load
