// Question: what does one insert, one update and one read with an update cost one caller, one at a
//           time and ten in a pipeline?
// Method:   one connection, one operation in flight, prepared statements, a table of 10,000 |
//           100,000 items with bodies of 100 bytes. An operation is waited for to its commit. Rows
//           and amounts are counted again by SQL.
// Expect:   a commit each, so about one fsync and 0.1 ms; mixed one round trip more. A pipeline of
//           ten has one commit, so it costs little more than one statement.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/store_sql/cases.hpp"

namespace plimsoll::bench {
namespace {

/// All that a case keeps from one repetition to the next.
struct Solo {
  std::unique_ptr<Stage> stage;
  std::unique_ptr<Caller> caller;
  std::optional<store::Store> store;
  std::optional<Acts> acts;
};

Result<std::unique_ptr<Solo>> make_solo(const Task& task) {
  auto solo = std::make_unique<Solo>();
  auto stage = make_stage("solo", stock_of_size());
  if (!stage) return fail(stage.error());
  solo->stage = std::move(*stage);
  auto caller = Caller::connect(solo->stage->dsn());
  if (!caller) return fail(caller.error());
  solo->caller = std::move(*caller);
  auto store = store::Store::make(solo->stage->schema());
  if (!store) return fail(store.error());
  solo->store.emplace(std::move(*store));
  solo->acts.emplace(*solo->stage, *solo->store, solo->caller->connection(), task, Rng(seed()));
  return solo;
}

/// Once a process for each case: Google Benchmark calls a body several times to find its pace.
Result<Solo*> solo_of(const std::string& name, const Task& task) {
  static std::map<std::string, std::unique_ptr<Solo>> all;
  auto& solo = all[name];
  if (!solo) {
    auto made = make_solo(task);
    if (!made) return fail(made.error());
    solo = std::move(*made);
  }
  return solo.get();
}

void run_solo(Case& c, const Task& task) {
  const auto solo = solo_of(c.name(), task);
  if (!solo) return c.fail(solo.error());
  Caller& caller = *(*solo)->caller;
  Acts& acts = *(*solo)->acts;
  for (auto _ : c.state()) {
    if (const auto done = caller.run(acts.step()); !done) {
      c.fail(done.error());
      break;
    }
  }
  if (c.failed()) return;
  check_table(c, *(*solo)->stage, acts.rows(), acts.amounts());
  c.state().SetItemsProcessed(c.state().iterations() * static_cast<std::int64_t>(task.depth));
}

}  // namespace

void register_solo_cases() {
  for (const std::size_t depth : {1U, 10U}) {
    for (const Act act : {Act::kInsert, Act::kUpdate, Act::kMixed}) {
      const Task task{act, depth};
      cpu_case(fmt::format("{}/{}/{}_one{}", kGroup, task.subject(), name(act), depth_suffix(task)),
               [task](Case& c) { run_solo(c, task); }, {Resource::kDb, true});
    }
  }
}

}  // namespace plimsoll::bench
