// Question: is any fire lost, doubled or accepted late when holders are killed or frozen past their
//           lease, and what does it cost the others?
// Method:   16 workers claim and fire; one in ten of them (two) is a process of its own, which
// holds
//           what it claimed for 5 ms. In turn these are killed and replaced, or stopped for twice
//           their ttl and continued. They claim in the way of the subject. `takeovers` are claims
//           of what they left; without one nothing was tried. Triggers note tokens that did not
//           grow by one, fires under another token than the schedule's, and claims beyond the
//           limit, statement by statement; duplicates and losses are counted from the slots that
//           each schedule has passed.
// Expect:   all counts 0. What a dead holder held is late by its ttl at most. The triggers cost, so
//           the rate is no rate of the group's.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <thread>

#include "bench/harness/case.hpp"
#include "bench/harness/metrics.hpp"
#include "bench/lease_claims/audit.hpp"
#include "bench/lease_claims/cases.hpp"
#include "bench/lease_claims/crew.hpp"
#include "bench/lease_claims/holders.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::size_t kWorkers = 16;
constexpr std::size_t kHolders = 2;
constexpr std::chrono::milliseconds kTtl{200};

void judge(Case& c, Stage& stage, const Crew& crew) {
  check_invariants(c, stage, crew, false);
  const auto count = [&](const Count& each) {
    const auto rows = stage.number(std::string(each.sql));
    if (!rows) return c.fail(rows.error());
    c.invariant(each.invariant, *rows);
  };
  for (const Count& each : noted_counts()) count(each);
  // Nothing may stay held for longer than a ttl: what the dead and the frozen had comes back.
  std::this_thread::sleep_for(kTtl);
  count(kStillHeld);
}

void run_faults(Case& c, lease::Subject subject, Fate fate) {
  auto stage = make_stage("fault", Rows{scaled(8, 60, 60), 120, Rows::Due::kAll});
  if (!stage) return c.fail(stage.error());
  const std::size_t batch = subject == lease::Subject::kSkipLockedBatch ? 4 : 1;
  // As many rows as the holders' way of claiming allows, whatever the crew takes.
  const std::size_t held = subject == lease::Subject::kSkipLocked ? 1 : 4;
  if (const auto done = (*stage)->run(audit_sql(held)); !done) return c.fail(done.error());
  const Duty duty{subject, kWorkers - kHolders, batch, true, kTtl};
  load::SubjectThread thread;
  auto crew = Crew::hire(**stage, duty, thread);
  if (!crew) return c.fail(crew.error());
  auto holders = Holders::start(
      **stage, {subject, held, kHolders, fate, kTtl, std::chrono::milliseconds{100}});
  if (!holders) return c.fail(holders.error());
  Crew& workers = **crew;
  load::Options options = crew_options(c, **stage, duty);
  options.server_count = {};     // The server counts the holders' work, too.
  options.fixed_operations = 0;  // The window is for the holders, who meet their fate by the clock.
  options.window = std::chrono::milliseconds{scaled(1000, 1000, 5000)};
  const auto report = load::run(options, thread.executor(), [&workers](load::OpContext context) {
    return workers.turn(context);
  });
  const auto fates = (*holders)->stop();
  if (!report) return c.fail(report.error());
  if (!fates) return c.fail(fates.error());
  c.report(*report);
  c.counter("faults", static_cast<double>(*fates));
  if (*fates == 0) return c.fail("no holder met its fate in the window: nothing was tried");
  const auto takeovers = (*stage)->number(std::string(kTakeovers));
  if (!takeovers) return c.fail(takeovers.error());
  c.counter("takeovers", static_cast<double>(*takeovers));
  if (*takeovers == 0) return c.fail("no fate hit a lease that another one then took over");
  judge(c, **stage, workers);
}

void add(lease::Subject subject, Fate fate) {
  load_case(fmt::format("{}/{}/{}/workers:{}/rows:120", kGroup, lease::name(subject),
                        fate == Fate::kKilled ? "holders_killed" : "holders_frozen", kWorkers),
            [subject, fate](Case& c) { run_faults(c, subject, fate); }, {Resource::kDb, false});
}

}  // namespace

void register_fault_cases() {
  declare_metric({"faults", "1", Better::kHigher, MetricClass::kInfo});
  declare_metric({"takeovers", "1", Better::kHigher, MetricClass::kInfo});
  using lease::Subject;
  for (const Subject subject : {Subject::kSkipLocked, Subject::kSkipLockedBatch, Subject::kAdvisory,
                                Subject::kUpdateReturning}) {
    if (size() != Size::kFull && subject != Subject::kSkipLockedBatch) continue;
    add(subject, Fate::kKilled);
    if (size() != Size::kSmoke) add(subject, Fate::kFrozen);
  }
}

}  // namespace plimsoll::bench
