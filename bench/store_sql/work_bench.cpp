// Question: how much work is one insert, one update, one pair, ten of them in a pipeline, and a
//           COPY of 1,000 rows, in figures that no neighbour on the machine can change?
// Method:   one caller, 200 operations (COPY: 20) on freshly loaded pages after a checkpoint, on a
//           connection of its own. Statements, round trips, rows and bytes are what that connection
//           counted, sends what libc's functions were asked for. WAL, commits and fsyncs:
//           bench/harness/wal.hpp.
// Expect:   a commit an operation. One round trip, and two for a pair that is not pipelined.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/harness/io_counter.hpp"
#include "bench/harness/wal.hpp"
#include "bench/store_sql/cases.hpp"
#include "bench/store_sql/copier.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::uint64_t kOperations = 200;
constexpr std::int64_t kCopies = 20;
constexpr std::int64_t kCopiedRows = 1000;

/// What one pass did, apart from WAL.
struct Work {
  pg::Counters before{};
  pg::Counters after{};
  std::uint64_t sends = 0;
};

void report(Case& c, const Work& work) {
  const auto per_operation = [&](std::string_view metric, std::uint64_t total) {
    c.counter(metric, static_cast<double>(total) / static_cast<double>(kOperations));
  };
  const auto counted = [&](std::string_view metric, std::uint64_t pg::Counters::*count) {
    per_operation(metric, work.after.*count - work.before.*count);
  };
  counted("statements_per_op", &pg::Counters::statements);
  counted("prepares_per_op", &pg::Counters::prepares);
  counted("round_trips_per_op", &pg::Counters::round_trips);
  counted("rows_per_op", &pg::Counters::rows);
  counted("bytes_sent_per_op", &pg::Counters::bytes_sent);
  counted("bytes_received_per_op", &pg::Counters::bytes_received);
  if (io_is_counted()) per_operation("sends_per_op", work.sends);
}

/// Counts the pass' WAL, or runs it without where the server is not ours.
void pass(Case& c, Stage& stage, const std::function<Result<std::uint64_t>()>& run) {
  bool has_run = false;
  const auto load = [&] { return stage.refill(); };
  const auto once = [&] {
    has_run = true;
    return run();
  };
  count_wal(c, stage.server(), {load, once});
  if (c.failed() || has_run) return;
  if (const auto loaded = load(); !loaded) return c.fail(loaded.error());
  if (const auto done = run(); !done) return c.fail(done.error());
}

/// The first operation prepares the statements, whose text holds this run's schema and so has no
/// fixed length: its bytes are not counted, its WAL is like any other's.
Result<std::uint64_t> work_on(const Stage& stage, const store::Store& store, const Task& task,
                              Work& work) {
  auto caller = Caller::connect(stage.dsn());
  if (!caller) return fail(caller.error());
  Acts acts(stage, store, (*caller)->connection(), task, Rng(seed()));
  if (const auto first = (*caller)->run(acts.step()); !first) return fail(first.error());
  work.before = (*caller)->connection().counters();
  const IoScope io;
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    if (const auto done = (*caller)->run(acts.step()); !done) return fail(done.error());
  }
  work.after = (*caller)->connection().counters();
  work.sends = io.so_far().sends;
  return kOperations + 1;
}

void run_work(Case& c, const Task& task) {
  auto stage = make_stage("work", Stock{1000, 100});
  if (!stage) return c.fail(stage.error());
  auto store = store::Store::make((*stage)->schema());
  if (!store) return c.fail(store.error());
  Work work;
  pass(c, **stage, [&] { return work_on(**stage, *store, task, work); });
  if (!c.failed()) report(c, work);
}

void run_copy(Case& c) {
  auto stage = make_stage("work_copy", Stock{0, 100});
  if (!stage) return c.fail(stage.error());
  pass(c, **stage, [&]() -> Result<std::uint64_t> {
    auto caller = CopyCaller::connect(**stage);
    if (!caller) return fail(caller.error());
    for (std::int64_t i = 0; i < kCopies; ++i) {
      const auto copied = (*caller)->in(kCopiedRows, pg::CopyFormat::kBinary, i * kCopiedRows + 1);
      if (!copied) return fail(copied.error());
    }
    return static_cast<std::uint64_t>(kCopies);
  });
  if (c.failed()) return;
  c.counter("rows_per_op", static_cast<double>(kCopiedRows));
  check_table(c, **stage, kCopies * kCopiedRows, amounts_of(kCopies * kCopiedRows));
}

}  // namespace

void register_work_cases() {
  for (const std::size_t depth : {1U, 10U}) {
    for (const Act act : {Act::kInsert, Act::kUpdate, Act::kMixed}) {
      if (size() == Size::kSmoke && act != Act::kInsert) continue;
      const Task task{act, depth};
      work_case(
          fmt::format("{}/{}/work_{}{}", kGroup, task.subject(), name(act), depth_suffix(task)),
          [task](Case& c) { run_work(c, task); });
    }
  }
  work_case(fmt::format("{}/copy/work_in/rows:{}", kGroup, kCopiedRows), run_copy);
}

}  // namespace plimsoll::bench
