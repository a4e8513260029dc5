// Question: does an acknowledged write ever get lost when the server is killed, and does memory
// grow
//           under load?
// Method:   crash: 16 callers set, erase and add through one store; every process of a server of
// our
//           own is killed by SIGKILL at a random moment and started again, 10 times at full size,
//           100 with PLIMSOLL_WEEKLY=1; each time all entries are held against what was
//           acknowledged. soak: 8 callers with all kinds of operations for five minutes, only with
//           PLIMSOLL_WEEKLY=1; the upper end of the 95 % interval of our memory's slope counts.
// Expect:   all counts 0; no more than 1 MB a minute. Neither rate is one of the group's.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/harness/metrics.hpp"
#include "bench/kv_store/cases.hpp"
#include "bench/kv_store/crash.hpp"
#include "bench/kv_store/crew.hpp"
#include "bench/kv_store/soak.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::size_t kSoakers = 8;

bool is_weekly() { return std::getenv("PLIMSOLL_WEEKLY") != nullptr; }

void run_crash(Case& c, int cycles) {
  const auto counts = crash_cycles({.cycles = cycles, .seed = seed()});
  if (!counts) return c.fail(counts.error());
  c.invariant("acknowledged_lost", counts->lost);
  c.invariant("unexplained_writes", counts->invented);
  c.invariant("lost_updates", counts->lost_updates);
  c.invariant("extra_updates", counts->extra_updates);
  c.counter("crashes", counts->cycles);
  c.counter("writes_acknowledged", static_cast<double>(counts->acknowledged));
  c.counter("writes_unknown", static_cast<double>(counts->unknown));
  if (counts->unknown == 0) c.fail("no write was on its way at any kill: nothing was tried");
}

void run_soak(Case& c, Subject subject) {
  using std::chrono::milliseconds;
  auto stage = make_stage(subject, Stock{2, 2000, 1024});
  if (!stage) return c.fail(stage.error());
  load::SubjectThread thread;
  auto crew = Crew::hire(**stage, Task{Act::kMixed}, kSoakers, thread);
  if (!crew) return c.fail(crew.error());
  Crew& workers = **crew;
  load::Options options;
  options.concurrency = kSoakers;
  options.warmup_floor = milliseconds{5000};  // Until every buffer has its size.
  options.warmup_cap = milliseconds{10'000};
  options.window = std::chrono::minutes{5};
  options.seed = seed();
  if ((*stage)->server_pid() > 0) options.server_pids = {(*stage)->server_pid()};
  const auto report = load::run(options, thread.executor(), [&workers](load::OpContext context) {
    return workers.turn(context);
  });
  if (!report) return c.fail(report.error());
  c.report(*report);
  c.invariant("failed_operations",
              static_cast<std::int64_t>(report->ledger.failed + report->warmup.failed));
  if (report->own.rss.slope) {
    c.counter("rss_mb_per_minute_most", report->own.rss.slope->high * 60 / 1e6);
  }
  c.invariant("memory_leaking", is_leaking(report->own.rss) ? 1 : 0);
  if (report->ledger.in_flight == 0) check(c, **stage, workers.score());
}

}  // namespace

void register_long_cases() {
  if (size() != Size::kFull) return;
  declare_metric({"crashes", "1", Better::kHigher, MetricClass::kInfo});
  declare_metric({"writes_acknowledged", "1", Better::kHigher, MetricClass::kInfo});
  declare_metric({"writes_unknown", "1", Better::kHigher, MetricClass::kInfo});
  declare_metric({"rss_mb_per_minute_most", "MB/min", Better::kLower, MetricClass::kInfo});
  const int cycles = is_weekly() ? 100 : 10;
  work_case(fmt::format("{}/postgres/crash/cycles:{}", kGroup, cycles),
            [cycles](Case& c) { run_crash(c, cycles); });
  if (!is_weekly()) return;
  for (const Subject subject : {Subject::kPostgres, Subject::kRedis}) {
    load_case(fmt::format("{}/{}/soak/clients:{}", kGroup, name(subject), kSoakers),
              [subject](Case& c) { run_soak(c, subject); }, {Resource::kDb, false});
  }
}

}  // namespace plimsoll::bench
