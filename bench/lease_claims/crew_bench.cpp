// Question: how many claims a second do 4, 16 and 64 workers get, each way; and how many whole
//           rounds of claim and fire?
// Method:   closed loop, a connection a worker, a tenant drawn at random for each operation.
// `claim`
//           takes a lease that expires after 1 ms, so that rows never run out; `claim_fire` fires
//           what it claimed. due:spread has half of the rows due, the rest in the hour to come.
//           The ledger is held against the server's count; duplicates, losses and tokens are
//           counted by SQL.
// Expect:   commits are shared, so claims grow with the workers until the CPU is full. 10,000 rows
//           a tenant cost no more than 120: the due ones are the first of an index. Compare and set
//           loses races, so it falls behind where workers meet on few tenants.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/lease_claims/cases.hpp"
#include "bench/lease_claims/crew.hpp"

namespace plimsoll::bench {
namespace {

/// Few tenants of many rows, so that loading does not outlast the measurement. In the spread case a
/// row that was fired is gone for the run, and half of the rows are all there is: at full size,
/// with warm-up and window of 2 s each, there is stock for 9,000 single rows a second, and for
/// 36,000 and more in batches.
int tenants_for(const Duty& duty, int each, Rows::Due due) {
  const bool is_stock = duty.fire && due == Rows::Due::kSpread;
  const bool is_batch = duty.batch > 1;
  if (each > 1000) return scaled(1, 3, !is_stock ? 12 : is_batch ? 60 : 12);
  return scaled(8, 60, !is_stock ? 240 : is_batch ? 2400 : 600);
}

void run_crew(Case& c, const Duty& duty, Rows rows) {
  auto stage = make_stage("crew", rows);
  if (!stage) return c.fail(stage.error());
  load::SubjectThread thread;
  auto crew = Crew::hire(**stage, duty, thread);
  if (!crew) return c.fail(crew.error());
  Crew& workers = **crew;
  const load::Options options = crew_options(c, **stage, duty);
  const auto report = load::run(options, thread.executor(), [&workers](load::OpContext context) {
    return workers.turn(context);
  });
  if (!report) return c.fail(report.error());
  c.report(*report);
  check_undisturbed(c, workers, *report);
  check_invariants(c, **stage, workers, report->ledger.in_flight == 0);
}

/// A tenant of 120 rows has room for a batch of 20 from each of six workers.
std::size_t batch_of(lease::Subject subject, int each) {
  if (subject != lease::Subject::kSkipLockedBatch) return 1;
  return each > 1000 ? 100 : 20;
}

void add(Duty duty, int each, Rows::Due due) {
  duty.batch = batch_of(duty.subject, each);
  std::string name = fmt::format("{}/{}/{}/workers:{}/rows:{}", kGroup, lease::name(duty.subject),
                                 duty.fire ? "claim_fire" : "claim", duty.workers, each);
  if (duty.subject == lease::Subject::kSkipLockedBatch)
    name += fmt::format("/batch:{}", duty.batch);
  if (duty.fire) name += due == Rows::Due::kAll ? "/due:all" : "/due:spread";
  load_case(std::move(name),
            [duty, each, due](Case& c) {
              run_crew(c, duty, Rows{tenants_for(duty, each, due), each, due});
            },
            {Resource::kDb, false});
}

/// By the size: at full the 10 combinations that tell most, of each subject; else those in which
/// the subjects differ most.
void add_subject(lease::Subject subject) {
  const bool is_full = size() == Size::kFull;
  const bool is_main = subject == lease::Subject::kSkipLocked && size() != Size::kSmoke;
  Duty claim{subject, 16, 1, false, std::chrono::milliseconds{1}};
  for (const std::size_t workers : {4U, 16U, 64U}) {
    claim.workers = workers;
    if (is_full || workers == 16 || (is_main && workers == 64)) add(claim, 120, Rows::Due::kAll);
    if (is_full) add(claim, 10'000, Rows::Due::kAll);
  }
  const Duty round{subject, 16, 1, true, std::chrono::milliseconds{60'000}};
  if (is_full || is_main) add(round, 10'000, Rows::Due::kSpread);
  if (!is_full) return;
  add(round, 120, Rows::Due::kAll);
  add(round, 120, Rows::Due::kSpread);
  add(round, 10'000, Rows::Due::kAll);
}

}  // namespace

void register_crew_cases() {
  add_subject(lease::Subject::kSkipLocked);
  add_subject(lease::Subject::kSkipLockedBatch);
  add_subject(lease::Subject::kAdvisory);
  add_subject(lease::Subject::kUpdateReturning);
}

}  // namespace plimsoll::bench
