// Question: what does a forgotten transaction do to the claims of everybody else?
// Method:   one connection opens a REPEATABLE READ transaction and takes its snapshot; 16 workers
//           claim and fire. No row version and no index entry that has died since can be removed,
//           so each claim walks over more of them. `rate_kept` is the rate in the last third of the
//           window over that in the first; dead_tuples is the server's count at the end. 1.5 s in
//           the short form, 30 s in full, 5 minutes with PLIMSOLL_WEEKLY=1.
// Expect:   a falling rate. snapshot:none beside it shows what falls without a snapshot.
// Not measured: the recovery after the snapshot is gone.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/harness/metrics.hpp"
#include "bench/lease_claims/cases.hpp"
#include "bench/lease_claims/crew.hpp"
#include "bench/lease_claims/rate_kept.hpp"

namespace plimsoll::bench {
namespace {

std::chrono::milliseconds window() {
  const bool weekly = std::getenv("PLIMSOLL_WEEKLY") != nullptr && size() == Size::kFull;
  return weekly ? std::chrono::minutes{5} : std::chrono::milliseconds{scaled(100, 1500, 30'000)};
}

Result<void> hold_snapshot(Stage& stage) {
  if (auto begun = stage.run("BEGIN ISOLATION LEVEL REPEATABLE READ"); !begun) return begun;
  return stage.run("SELECT count(*) FROM fires");  // The snapshot is taken by the first query.
}

/// A backend hands in its last statistics before it leaves the list of those that are there.
Result<void> wait_until_gone(fixtures::Client& watcher, const std::vector<int>& backends) {
  const auto deadline = Clock::now() + std::chrono::seconds{10};
  const std::string still = fmt::format(
      "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY('{{{}}}')", fmt::join(backends, ","));
  while (Clock::now() < deadline) {
    const auto rows = watcher.query(still);
    if (!rows) return fail(rows.error());
    if (rows->front().front() == "0") return {};
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return fail(Errc::kTimeout, "the crew's sessions do not end; dead_tuples would lack theirs");
}

void run_snapshot(Case& c, bool held) {
  auto stage = make_stage("snapshot", Rows{scaled(4, 20, 20), 120, Rows::Due::kAll});
  if (!stage) return c.fail(stage.error());
  auto watcher = fixtures::Client::connect((*stage)->dsn());
  if (!watcher) return c.fail(watcher.error());
  const Duty duty{lease::Subject::kSkipLocked, 16, 1, true, std::chrono::milliseconds{60'000}};
  load::SubjectThread thread;
  auto crew = Crew::hire(**stage, duty, thread);
  if (!crew) return c.fail(crew.error());
  Crew& workers = **crew;
  load::Options options = crew_options(c, **stage, duty);
  options.server_count = {};  // Its connection holds the snapshot and would count in the past.
  options.window = window();
  if (held) {
    if (const auto holding = hold_snapshot(**stage); !holding) return c.fail(holding.error());
  }
  const auto report = load::run(options, thread.executor(), [&workers](load::OpContext context) {
    return workers.turn(context);
  });
  if (!report) return c.fail(report.error());
  workers.dismiss();
  if (const auto gone = wait_until_gone(*watcher, workers.backends()); !gone) {
    return c.fail(gone.error());
  }
  const auto dead = watcher->query(fmt::format(
      "SELECT n_dead_tup FROM pg_stat_all_tables WHERE schemaname = '{}' AND relname = 'schedules'",
      (*stage)->schema()));
  if (!dead) return c.fail(dead.error());
  if (held) {
    if (const auto ended = (*stage)->run("COMMIT"); !ended) return c.fail(ended.error());
  }
  c.report(*report);
  c.counter("dead_tuples", std::stod(dead->front().front()));
  c.counter("rate_kept", rate_kept(workers.ended(), report->window));
  check_undisturbed(c, workers, *report);
  check_invariants(c, **stage, workers, report->ledger.in_flight == 0);
}

void add(bool held) {
  load_case(fmt::format("{}/skip_locked/snapshot_held/workers:16/snapshot:{}", kGroup,
                        held ? "old" : "none"),
            [held](Case& c) { run_snapshot(c, held); }, {Resource::kDb, false});
}

}  // namespace

void register_snapshot_cases() {
  declare_metric({"rate_kept", "1", Better::kHigher, MetricClass::kInfo});
  add(true);
  if (size() == Size::kFull) add(false);
}

}  // namespace plimsoll::bench
