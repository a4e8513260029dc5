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

// A tenant of 120 rows has room for six workers at once.
constexpr std::size_t kBatch = 20;

/// Few tenants of many rows, so that loading does not outlast the measurement; but more rows than
/// the spread case can fire in its window.
int tenants_for(int each) { return each > 1000 ? scaled(1, 3, 12) : scaled(8, 60, 240); }

void run_crew(Case& c, const Duty& duty, Rows rows) {
  auto stage = Stage::make("crew", rows);
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
  check_invariants(c, **stage, workers, report->ledger.in_flight == 0);
}

void add(const Duty& duty, int each, Rows::Due due) {
  std::string name = fmt::format("{}/{}/{}/workers:{}/rows:{}", kGroup, lease::name(duty.subject),
                                 duty.fire ? "claim_fire" : "claim", duty.workers, each);
  if (duty.fire) name += due == Rows::Due::kAll ? "/due:all" : "/due:spread";
  load_case(std::move(name),
            [duty, each, due](Case& c) {
              run_crew(c, duty, Rows{tenants_for(each), each, due});
            },
            {Resource::kDb, false});
}

}  // namespace

void register_crew_cases() {
  using lease::Subject;
  using std::chrono::milliseconds;
  for (const Subject subject : {Subject::kSkipLocked, Subject::kSkipLockedBatch, Subject::kAdvisory,
                                Subject::kUpdateReturning}) {
    const bool is_batch = subject == Subject::kSkipLockedBatch;
    Duty duty{subject, 16, is_batch ? kBatch : std::size_t{1}, false, milliseconds{1}};
    const bool is_main = subject == Subject::kSkipLocked;
    for (const std::size_t workers : {4U, 16U, 64U}) {
      duty.workers = workers;
      if (size() == Size::kFull || (is_main && workers != 4) || workers == 16) {
        add(duty, 120, Rows::Due::kAll);
      }
      if (size() == Size::kFull) add(duty, 10'000, Rows::Due::kAll);
    }
    duty.workers = 16;
    duty.fire = true;
    duty.ttl = milliseconds{60'000};
    if (size() == Size::kFull || is_main) add(duty, 10'000, Rows::Due::kSpread);
    if (size() != Size::kFull) continue;
    add(duty, 120, Rows::Due::kAll);
    add(duty, 120, Rows::Due::kSpread);
    add(duty, 10'000, Rows::Due::kAll);
  }
}

}  // namespace plimsoll::bench
