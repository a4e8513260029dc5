// Question: what does one claim, renewal, release and fire cost one caller, by each way to claim?
// Method:   one connection, one operation in flight, 20 tenants of 120 rows that are all due. A
// claim
//           expires after 1 ms, so that the next one finds the tenant as this one did. Leases to
//           renew, release and fire are claimed in stocks of 1,000 outside the measured time. Rows
//           claimed and fired are counted again by SQL.
// Expect:   one commit each, so about one fsync plus 0.1 ms; a batch of 100 rows a few times that.
//           Renew, release and fire are the same statements for the three ways that take one row.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/lease_claims/acts.hpp"
#include "bench/lease_claims/audit.hpp"
#include "bench/lease_claims/cases.hpp"

namespace plimsoll::bench {
namespace {

/// All that a case keeps from one repetition to the next.
struct Solo {
  std::unique_ptr<Stage> stage;
  std::unique_ptr<Caller> caller;
  std::optional<lease::Claimer> claimer;
  std::optional<Acts> acts;
};

Result<std::unique_ptr<Solo>> make_solo(lease::Subject subject, std::size_t batch) {
  auto solo = std::make_unique<Solo>();
  auto stage = make_stage("solo", Rows{20, 120, Rows::Due::kAll});
  if (!stage) return fail(stage.error());
  solo->stage = std::move(*stage);
  auto caller = Caller::connect(solo->stage->dsn());
  if (!caller) return fail(caller.error());
  solo->caller = std::move(*caller);
  auto claimer = lease::Claimer::make(subject, solo->stage->schema());
  if (!claimer) return fail(claimer.error());
  solo->claimer.emplace(std::move(*claimer));
  solo->acts.emplace(*solo->stage, *solo->claimer, solo->caller->connection(), batch);
  return solo;
}

/// Once a process for each case: Google Benchmark calls a body several times to find its pace.
Result<Solo*> solo_of(const std::string& name, lease::Subject subject, std::size_t batch) {
  static std::map<std::string, std::unique_ptr<Solo>> all;
  auto& solo = all[name];
  if (!solo) {
    auto made = make_solo(subject, batch);
    if (!made) return fail(made.error());
    solo = std::move(*made);
  }
  return solo.get();
}

/// The library's word against the tables'.
void check_counts(Case& c, Solo& solo) {
  const auto count = [&](const Count& each, std::uint64_t less = 0) {
    const auto value = solo.stage->number(std::string(each.sql));
    if (!value) return c.fail(value.error());
    c.invariant(each.invariant, *value - static_cast<std::int64_t>(less));
  };
  count({"claims_unaccounted", kClaimsDone}, solo.acts->claimed());
  count({"fires_unaccounted", kFiresDone}, solo.acts->fired());
  for (const Count& each : table_counts()) count(each);
}

void run_solo(Case& c, lease::Subject subject, Act act, std::size_t batch) {
  const auto solo = solo_of(c.name(), subject, batch);
  if (!solo) return c.fail(solo.error());
  Caller& caller = *(*solo)->caller;
  Acts& acts = *(*solo)->acts;
  for (auto _ : c.state()) {
    if (!acts.stocked(act)) {
      c.state().PauseTiming();
      const auto stocked = caller.run(acts.restock(act));
      c.state().ResumeTiming();
      if (!stocked) {
        c.fail(stocked.error());
        break;
      }
    }
    if (const auto done = caller.run(acts.step(act)); !done) {
      c.fail(done.error());
      break;
    }
  }
  if (c.failed()) return;
  check_counts(c, **solo);
  c.state().SetItemsProcessed(c.state().iterations() * static_cast<std::int64_t>(batch));
}

void add(lease::Subject subject, Act act, std::size_t batch) {
  cpu_case(fmt::format("{}/{}/{}/batch:{}", kGroup, lease::name(subject), name(act), batch),
           [subject, act, batch](Case& c) { run_solo(c, subject, act, batch); },
           {Resource::kDb, true});
}

}  // namespace

void register_solo_cases() {
  using lease::Subject;
  for (const Act act : {Act::kClaim, Act::kFire, Act::kRenew, Act::kRelease}) {
    if (size() == Size::kSmoke && act == Act::kRenew) break;
    add(Subject::kSkipLocked, act, 1);
    add(Subject::kSkipLockedBatch, act, 100);
  }
  add(Subject::kAdvisory, Act::kClaim, 1);
  add(Subject::kUpdateReturning, Act::kClaim, 1);
}

}  // namespace plimsoll::bench
