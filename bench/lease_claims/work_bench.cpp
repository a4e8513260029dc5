// Question: how much work is one claim and one fire, in figures that no neighbour on the machine
//           can change?
// Method:   one caller, a fixed number of operations on freshly loaded pages, after a checkpoint
//           where the server is ours. Statements, round trips, rows and bytes are the connection's
//           own counts, the statement's preparation left out. WAL, commits and fsyncs: see
//           bench/harness/wal.hpp.
// Expect:   one statement, one round trip and one commit each, whatever the batch. A claim writes a
//           row lock and a heap-only update; `update_returning` and `advisory` write no row lock.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/lease_claims/acts.hpp"
#include "bench/lease_claims/cases.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::uint64_t kOperations = 200;

struct Worker {
  std::unique_ptr<pg::Connection> connection;
  std::optional<Acts> acts;
};

asio::awaitable<Result<void>> prepare(Worker& worker, const Stage& stage,
                                      const lease::Claimer& claimer, Act act, std::size_t batch) {
  pg::Config config;
  config.dsn = stage.dsn();
  Result<std::unique_ptr<pg::Connection>> connection =
      co_await pg::Connection::connect(std::move(config));
  if (!connection) co_return fail(connection.error());
  worker.connection = std::move(*connection);
  worker.acts.emplace(stage, claimer, *worker.connection, batch);
  Result<void> stocked;
  do {  // At least for all operations and the one that prepares the statement.
    stocked = co_await worker.acts->restock(act);
    if (!stocked) co_return stocked;
  } while (!worker.acts->stocked(act, kOperations + 1));
  Result<void> first = co_await worker.acts->step(act);
  co_return first;
}

asio::awaitable<load::Outcome> turn(Worker& worker, Act act) {
  Result<void> done = co_await worker.acts->step(act);
  if (done) co_return load::Outcome{};
  co_return load::Outcome{load::Outcome::Kind::kFailed, 0, done.error().message};
}

asio::awaitable<Result<pg::Counters>> counters(Worker& worker) {
  co_return worker.connection->counters();
}

asio::awaitable<Result<void>> close(Worker& worker) {
  worker.acts.reset();
  worker.connection.reset();
  co_return Result<void>{};
}

void report_work(Case& c, const pg::Counters& before, const pg::Counters& after) {
  const auto per_operation = [&](std::string_view metric, std::uint64_t from, std::uint64_t to) {
    c.counter(metric, static_cast<double>(to - from) / static_cast<double>(kOperations));
  };
  per_operation("statements_per_op", before.statements, after.statements);
  per_operation("prepares_per_op", before.prepares, after.prepares);
  per_operation("round_trips_per_op", before.round_trips, after.round_trips);
  per_operation("rows_per_op", before.rows, after.rows);
  per_operation("bytes_sent_per_op", before.bytes_sent, after.bytes_sent);
  per_operation("bytes_received_per_op", before.bytes_received, after.bytes_received);
}

void run_work(Case& c, lease::Subject subject, Act act, std::size_t batch) {
  auto stage = Stage::make("work", Rows{20, batch == 1 ? 120 : 1200, Rows::Due::kAll});
  if (!stage) return c.fail(stage.error());
  const auto claimer = lease::Claimer::make(subject, (*stage)->schema());
  if (!claimer) return c.fail(claimer.error());
  Worker worker;
  load::SubjectThread thread;
  auto prepared = thread.call(prepare(worker, **stage, *claimer, act, batch));
  load::Options options;
  options.fixed_operations = kOperations;
  options.warmup_floor = options.warmup_cap = std::chrono::milliseconds{0};
  if (prepared) {
    const auto before = thread.call(counters(worker));
    const auto report = load::run(options, thread.executor(),
                                  [&worker, act](load::OpContext) { return turn(worker, act); });
    const auto after = thread.call(counters(worker));
    if (!report) {
      prepared = fail(report.error());
    } else {
      c.report(*report);
      report_work(c, *before, *after);
    }
  }
  (void)thread.call(close(worker));
  if (!prepared) c.fail(prepared.error());
}

void add(lease::Subject subject, Act act, std::size_t batch) {
  load_case(fmt::format("{}/{}/work_{}/batch:{}", kGroup, lease::name(subject), name(act), batch),
            [subject, act, batch](Case& c) { run_work(c, subject, act, batch); },
            {Resource::kDb, false});
}

}  // namespace

void register_work_cases() {
  using lease::Subject;
  for (const Act act : {Act::kClaim, Act::kFire}) {
    add(Subject::kSkipLocked, act, 1);
    add(Subject::kSkipLockedBatch, act, 100);
  }
  add(Subject::kAdvisory, Act::kClaim, 1);
  add(Subject::kUpdateReturning, Act::kClaim, 1);
}

}  // namespace plimsoll::bench
