// Question: how many plain statements a second do 1, 8 and 32 connections get, one at a time and
//           ten in a pipeline, and eight through PgBouncer?
// Method:   closed loop, a connection a caller, items drawn at random; an operation is one
//           statement, a read and an update, or ten of these in one transaction. The ledger is held
//           against the server's count; rows and amounts are counted again by SQL.
// Expect:   commits are shared, so statements grow with the callers until the CPU is full; a
//           pipeline needs fewer commits and fewer turns of everybody, so it is several times that.
//           PgBouncer costs a statement more than a pipeline, which passes through it in one piece.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/harness/infra.hpp"
#include "bench/store_sql/audit.hpp"
#include "bench/store_sql/cases.hpp"
#include "bench/store_sql/crew.hpp"

namespace plimsoll::bench {
namespace {

/// The server's own count of operations: by rows, or by what the updates added.
std::function<Result<std::uint64_t>()> server_count(Stage& stage, const Task& task) {
  const auto sql = std::string(task.act == Act::kInsert ? kRowsPresent : kAmounts);
  const std::int64_t before = task.act == Act::kInsert ? stage.stock().items : 0;
  return [&stage, sql, before, depth = task.depth]() -> Result<std::uint64_t> {
    const auto count = stage.number(sql);
    if (!count) return fail(count.error());
    return static_cast<std::uint64_t>(*count - before) / depth;
  };
}

load::Options crew_options(const Case& c, Stage& stage, const Task& task, std::size_t callers) {
  using std::chrono::milliseconds;
  load::Options options;
  options.concurrency = callers;
  // Smoke only proves that it works, on any machine: a count of operations ends well where a short
  // window might see none.
  options.fixed_operations = c.fixed_operations() > 0 ? c.fixed_operations() : scaled(50U, 0U, 0U);
  options.warmup_floor = milliseconds{scaled(0, 150, 200)};
  options.warmup_cap = milliseconds{scaled(0, 400, 2000)};
  options.window = milliseconds{scaled(100, 400, 2000)};
  options.seed = seed();
  options.server_pids = stage.server_pids();
  options.server_count = server_count(stage, task);
  return options;
}

void run_crew(Case& c, const Task& task, std::size_t callers, bool pooled) {
  auto stage = make_stage("crew", stock_of_size());
  if (!stage) return c.fail(stage.error());
  if (pooled) {
    auto before = pooler();
    if (!before) return c.fail(before.error());
    (*stage)->go_through(std::move(*before));
  }
  load::SubjectThread thread;
  auto crew = Crew::hire(**stage, task, callers, thread);
  if (!crew) return c.fail(crew.error());
  Crew& workers = **crew;
  const auto report =
      load::run(crew_options(c, **stage, task, callers), thread.executor(),
                [&workers](load::OpContext context) { return workers.turn(context); });
  if (!report) return c.fail(report.error());
  c.report(*report);
  c.invariant("failed_operations",
              static_cast<std::int64_t>(report->ledger.failed + report->warmup.failed));
  // What is still in flight may be there or not; then only the ledger speaks.
  if (report->ledger.in_flight == 0) check_table(c, **stage, workers.rows(), workers.amounts());
}

void add(const Task& task, std::size_t callers, bool pooled = false) {
  load_case(fmt::format("{}/{}/{}{}/conns:{}{}", kGroup, task.subject(), name(task.act),
                        depth_suffix(task), callers, pooled ? "/via:pgbouncer" : ""),
            [task, callers, pooled](Case& c) { run_crew(c, task, callers, pooled); },
            {Resource::kDb, false});
}

}  // namespace

// At full size 9 cells a subject; else those in which the two differ most.
void register_crew_cases() {
  for (const std::size_t depth : {1U, 10U}) {
    for (const Act act : {Act::kInsert, Act::kUpdate, Act::kMixed}) {
      for (const std::size_t callers : {1U, 8U, 32U}) {
        const bool is_short = callers == 8 && (size() == Size::kShort || act == Act::kInsert);
        if (size() == Size::kFull || is_short) add(Task{act, depth}, callers);
      }
      const bool is_telling = size() == Size::kShort && act == Act::kInsert;
      if (size() == Size::kFull || is_telling) add(Task{act, depth}, 8, true);
    }
  }
}

}  // namespace plimsoll::bench
