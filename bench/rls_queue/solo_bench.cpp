// Question: what does one job cost one caller, a round trip a statement and pipelined, and what
// does
//           the seal add to it?
// Method:   one caller, one job in flight, 20 tenants of 500 notes in turn. Every answer is one row
//           of the job's own tenant. `unsealed` leaves the last statement out, which no queue
//           should.
// Expect:   a pipelined read is one round trip and three statements, about 60 us; a serial one five
//           of each. The seal is some 10 us. A write adds a commit.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/rls_queue/audit.hpp"
#include "bench/rls_queue/caller.hpp"
#include "bench/rls_queue/cases.hpp"
#include "bench/rls_queue/jobs.hpp"

namespace plimsoll::bench {
namespace {

using rls::Subject;

struct Way {
  Subject subject = Subject::kPipelined;
  bool writes = false;
  bool with_actor = false;
  bool sealed = true;
};

/// All that a case keeps from one repetition to the next.
struct Solo {
  std::unique_ptr<Stage> stage;
  std::unique_ptr<Caller> caller;
  std::unique_ptr<Jobs> jobs;
  std::uint64_t turn = 0;
  std::uint64_t written = 0;
  std::uint64_t foreign = 0;
};

Result<std::unique_ptr<Solo>> make_solo(const Way& way) {
  auto solo = std::make_unique<Solo>();
  auto stage = make_stage("solo");
  if (!stage) return fail(stage.error());
  solo->stage = std::move(*stage);
  auto caller = Caller::open(*solo->stage, way.subject, way.with_actor, way.sealed);
  if (!caller) return fail(caller.error());
  solo->caller = std::move(*caller);
  solo->jobs = std::make_unique<Jobs>(solo->stage->schema(), way.with_actor);
  return solo;
}

/// Once a process for each case: Google Benchmark calls a body several times to find its pace.
Result<Solo*> solo_of(const std::string& name, const Way& way) {
  static std::map<std::string, std::unique_ptr<Solo>> all;
  auto& solo = all[name];
  if (!solo) {
    auto made = make_solo(way);
    if (!made) return fail(made.error());
    solo = std::move(*made);
  }
  return solo.get();
}

Result<void> step(Solo& solo, bool writes) {
  const std::uint64_t tenant = solo.turn % static_cast<std::uint64_t>(solo.stage->shape().tenants);
  const std::uint64_t id = 1 + solo.turn % static_cast<std::uint64_t>(solo.stage->shape().each);
  ++solo.turn;
  auto job = writes ? solo.jobs->write(tenant, id, 0) : solo.jobs->read(tenant, id, 0);
  const auto answers = solo.caller->run(solo.caller->queue().run(std::move(job)));
  if (!answers) return fail(answers.error());
  solo.foreign += foreign_rows(*answers, tenant);
  solo.written += writes ? 1 : 0;
  if (answers->front().size() == 1) return {};
  return fail(Errc::kInternal, "wrong: not one row");
}

void run_solo(Case& c, const Way& way) {
  const auto solo = solo_of(c.name(), way);
  if (!solo) return c.fail(solo.error());
  for (auto _ : c.state()) {
    if (const auto done = step(**solo, way.writes); !done) {
      c.fail(done.error());
      break;
    }
  }
  if (c.failed()) return;
  c.invariant("cross_tenant_rows", static_cast<std::int64_t>((*solo)->foreign));
  const auto written = (*solo)->stage->number(kWritesDone);
  const auto astray = (*solo)->stage->number(kForeignWrites);
  if (!written) return c.fail(written.error());
  if (!astray) return c.fail(astray.error());
  c.invariant("writes_unaccounted", *written - static_cast<std::int64_t>((*solo)->written));
  c.invariant("foreign_writes", *astray);
}

void add(const Way& way) {
  cpu_case(fmt::format("{}/{}/{}_one{}/binds:{}", kGroup, rls::name(way.subject),
                       way.writes ? "write" : "read", way.sealed ? "" : "_unsealed",
                       way.with_actor ? 4 : 3),
           [way](Case& c) { run_solo(c, way); }, {Resource::kDb, true});
}

}  // namespace

void register_solo_cases() {
  add({Subject::kSerial, false, false, true});
  add({Subject::kPipelined, false, false, true});
  if (size() == Size::kSmoke) return;
  add({Subject::kPipelined, false, true, true});
  add({Subject::kPipelined, false, false, false});
  add({Subject::kPipelined, true, false, true});
}

}  // namespace plimsoll::bench
