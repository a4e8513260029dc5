// Question: how much work is one get, set, delete, compare-and-set and batch of ten, in figures
// that
//           no neighbour on the machine can change?
// Method:   one caller, 200 operations on freshly loaded pages after a checkpoint. Statements or
//           commands, round trips, rows and bytes are what the store's connections counted, sends
//           what libc's functions were asked for. WAL, commits and fsyncs: bench/harness/wal.hpp.
// Expect:   one round trip an operation, two for a compare-and-set, which reads first. A commit for
//           whatever writes.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/harness/infra.hpp"
#include "bench/harness/io_counter.hpp"
#include "bench/harness/metrics.hpp"
#include "bench/harness/wal.hpp"
#include "bench/kv_store/caller.hpp"
#include "bench/kv_store/cases.hpp"
#include "lib/kv_store/postgres_store.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::uint64_t kOperations = 200;
const Stock kStock{2, 500, 32};

/// What one pass did, apart from WAL.
struct Work {
  pg::Counters before{};
  pg::Counters after{};
  redis::Counters redis_before{};
  redis::Counters redis_after{};
  std::uint64_t sends = 0;
};

void per_operation(Case& c, std::string_view metric, std::uint64_t total) {
  c.counter(metric, static_cast<double>(total) / static_cast<double>(kOperations));
}

/// The first operation prepares statements or loads scripts, and is not counted.
Result<std::uint64_t> work_on(Stage& stage, const Task& task, Work& work, Score& score) {
  auto caller = Caller::open(stage);
  if (!caller) return fail(caller.error());
  const Draw draw(task.law, stage.stock().places());
  Acts acts(stage.stock(), (*caller)->store(), task, draw, score, Rng(seed()));
  const auto step = [&]() -> Result<void> {
    const load::Outcome done = (*caller)->run(acts.step());
    if (done.kind == load::Outcome::Kind::kOk) return {};
    return fail(Errc::kInternal, "an operation failed: " + done.error_kind);
  };
  const auto count = [&](pg::Counters& postgres, redis::Counters& redis) {
    if ((*caller)->opened().connection) redis = (*caller)->opened().connection->counters();
    const auto* store = dynamic_cast<const kv::PostgresStore*>(&(*caller)->store());
    if (store != nullptr) postgres = store->counters();
  };
  if (auto first = step(); !first) return fail(first.error());
  count(work.before, work.redis_before);
  const IoScope io;
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    if (auto done = step(); !done) return fail(done.error());
  }
  work.sends = io.so_far().sends;
  count(work.after, work.redis_after);
  return kOperations + 1;
}

/// What lies in the store is read anew before each try, of which a pass may need several.
Result<std::uint64_t> try_once(Stage& stage, const Task& task, Work& work, Score& score) {
  auto found = stage.look();
  if (!found) return fail(found.error());
  score = Score(std::move(found->versions));
  return work_on(stage, task, work, score);
}

void run_postgres(Case& c, const Task& task) {
  const auto server = postgres();
  if (!server) return c.fail(server.error());
  auto stage = make_stage(Subject::kPostgres, kStock);
  if (!stage) return c.fail(stage.error());
  Work work;
  Score score({});
  bool has_run = false;
  const auto load = [&] { return (*stage)->refill(); };
  const auto run = [&] {
    has_run = true;
    return try_once(**stage, task, work, score);
  };
  count_wal(c, *server, {load, run});
  if (!c.failed() && !has_run) {
    if (const auto done = run(); !done) return c.fail(done.error());
  }
  if (c.failed()) return;
  const auto counted = [&](std::string_view metric, std::uint64_t pg::Counters::*what) {
    per_operation(c, metric, work.after.*what - work.before.*what);
  };
  counted("statements_per_op", &pg::Counters::statements);
  counted("prepares_per_op", &pg::Counters::prepares);
  counted("round_trips_per_op", &pg::Counters::round_trips);
  counted("rows_per_op", &pg::Counters::rows);
  if (io_is_counted()) per_operation(c, "sends_per_op", work.sends);
  check(c, **stage, score);
}

void run_redis(Case& c, const Task& task) {
  auto stage = make_stage(Subject::kRedis, kStock);
  if (!stage) return c.fail(stage.error());
  Work work;
  Score score({});
  if (const auto done = try_once(**stage, task, work, score); !done) return c.fail(done.error());
  const auto counted = [&](std::string_view metric, std::uint64_t redis::Counters::*what) {
    per_operation(c, metric, work.redis_after.*what - work.redis_before.*what);
  };
  counted("commands_per_op", &redis::Counters::commands);
  counted("round_trips_per_op", &redis::Counters::round_trips);
  if (io_is_counted()) per_operation(c, "sends_per_op", work.sends);
  check(c, **stage, score);
}

}  // namespace

void register_work_cases() {
  declare_metric({"commands_per_op", "1/op", Better::kExact, MetricClass::kWork});
  for (const Subject subject : {Subject::kPostgres, Subject::kRedis}) {
    for (const Act act : {Act::kGetHit, Act::kSet, Act::kErase, Act::kCas, Act::kBatchSet}) {
      if (size() == Size::kSmoke && act != Act::kSet) continue;
      const Task task{act, act == Act::kBatchSet ? 10U : 1U};
      work_case(fmt::format("{}/{}/work_{}", kGroup, name(subject), name(act)),
                [subject, task](Case& c) {
                  subject == Subject::kPostgres ? run_postgres(c, task) : run_redis(c, task);
                });
    }
  }
}

}  // namespace plimsoll::bench
