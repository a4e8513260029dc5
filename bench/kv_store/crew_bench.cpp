// Question: how many sets, gets, deletes, compare-and-sets and batches a second do 1, 8 and 64
//           callers of one store get, on Postgres and on Redis?
// Method:   closed loop, two tenants, places drawn alike or by Zipf's law. Postgres has one
//           connection for gets and one for sets; Redis one for all. A delete is of an entry that
//           is there, each once. A compare-and-set reads one of four entries and adds to it; items
//           are those that won. Entries and versions are counted again by SQL or by plain commands.
// Expect:   one caller's set is a commit, so an fsync; 64 share one, so tens of times that. Gets
// and
//           all of Redis are bound by CPU: the calls of one turn of the loop travel together.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/kv_store/cases.hpp"
#include "bench/kv_store/crew.hpp"

namespace plimsoll::bench {
namespace {

load::Options options_of(const Case& c, const Stage& stage, const Task& task, std::size_t callers) {
  using std::chrono::milliseconds;
  load::Options options;
  options.concurrency = callers;
  // Smoke only proves that it works: a count of operations ends well where a short window might see
  // none. Erases end when all is erased.
  options.fixed_operations = c.fixed_operations() > 0 ? c.fixed_operations() : scaled(60U, 0U, 0U);
  if (task.act == Act::kErase) options.fixed_operations = stage.stock().places();
  options.warmup_floor = milliseconds{scaled(0, 150, 200)};
  options.warmup_cap = milliseconds{scaled(0, 400, 2000)};
  options.window = milliseconds{scaled(100, 400, 2000)};
  options.seed = seed();
  if (stage.server_pid() > 0) options.server_pids = {stage.server_pid()};
  return options;
}

void run_crew(Case& c, Subject subject, const Stock& stock, const Task& task, std::size_t callers) {
  auto stage = make_stage(subject, stock);
  if (!stage) return c.fail(stage.error());
  load::SubjectThread thread;
  auto crew = Crew::hire(**stage, task, callers, thread);
  if (!crew) return c.fail(crew.error());
  Crew& workers = **crew;
  const auto report =
      load::run(options_of(c, **stage, task, callers), thread.executor(),
                [&workers](load::OpContext context) { return workers.turn(context); });
  if (!report) return c.fail(report.error());
  c.report(*report);
  c.invariant("failed_operations",
              static_cast<std::int64_t>(report->ledger.failed + report->warmup.failed));
  // What is still in flight may be there or not; then only the ledger speaks.
  if (report->ledger.in_flight == 0) check(c, **stage, workers.score());
}

/// What is added to a case's name, beside subject, act and callers.
struct Cell {
  std::size_t value = 32;
  std::size_t batch = 1;
  Draw::Law law = Draw::Law::kUniform;
};

void add(Subject subject, Act act, std::size_t callers, Cell cell = {}) {
  std::string name =
      fmt::format("{}/{}/{}/clients:{}", kGroup, bench::name(subject), bench::name(act), callers);
  if (cell.batch > 1) name += fmt::format("/batch:{}", cell.batch);
  name += fmt::format("/value:{}", cell.value);
  if (cell.law == Draw::Law::kZipf) name += "/keys:zipf";
  const Task task{act, cell.batch, 4, cell.law};
  load_case(std::move(name),
            [subject, task, callers, value = cell.value](Case& c) {
              run_crew(c, subject, stock_of_size(value), task, callers);
            },
            {Resource::kDb, false});
}

/// The cells in which callers, values and keys make most of a difference; at full size twelve.
void add_subject(Subject subject) {
  const bool is_full = size() == Size::kFull;
  constexpr Cell kZipf{32, 1, Draw::Law::kZipf};
  if (size() == Size::kSmoke) {
    for (const Act act : {Act::kSet, Act::kGetHit, Act::kCas, Act::kMixed}) add(subject, act, 8);
    return;
  }
  for (const std::size_t callers : {1U, 8U, 64U}) {
    if (is_full || callers != 8) add(subject, Act::kSet, callers);
    if (is_full || callers == 64) add(subject, Act::kGetHit, callers);
  }
  add(subject, Act::kErase, 64);
  add(subject, Act::kCas, 8);
  add(subject, Act::kBatchSet, 8, {32, 100});
  if (!is_full && subject == Subject::kRedis) return;
  add(subject, Act::kGetMiss, 64);
  add(subject, Act::kSet, 64, kZipf);
  add(subject, Act::kSet, 8, {64 * 1024});
  if (!is_full) return;
  add(subject, Act::kGetHit, 8, {64 * 1024});
  add(subject, Act::kSet, 64, {1024});
  add(subject, Act::kBatchGet, 8, {32, 100});
  add(subject, Act::kBatchSet, 8, {32, 10});
}

}  // namespace

void register_crew_cases() {
  add_subject(Subject::kPostgres);
  add_subject(Subject::kRedis);
}

}  // namespace plimsoll::bench
