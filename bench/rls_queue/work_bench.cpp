// Question: how much work is one job, in figures that no neighbour on the machine can change?
// Method:   one caller, 200 jobs on freshly loaded pages after a checkpoint, on a connection of its
//           own. Statements, round trips, rows and bytes are what the queue's connection counted,
//           sends and allocations what libc's functions were asked for. WAL, commits and fsyncs:
//           bench/harness/wal.hpp.
// Expect:   pipelined: one round trip, three statements (stamp, the job's, seal); serial: five of
//           each, for BEGIN and COMMIT. Identity writes no WAL; a read neither WAL nor commit.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/harness/io_counter.hpp"
#include "bench/harness/wal.hpp"
#include "bench/rls_queue/caller.hpp"
#include "bench/rls_queue/cases.hpp"
#include "bench/rls_queue/jobs.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::uint64_t kOperations = 200;
constexpr std::uint64_t kTenant = 7;

struct Way {
  rls::Subject subject = rls::Subject::kPipelined;
  bool writes = false;
  bool with_actor = false;
};

/// What one pass did, apart from WAL.
struct Work {
  pg::Counters before{};
  pg::Counters after{};
  IoCounts io{};
};

class Pass {
 public:
  Pass(Stage& stage, const Way& way)
      : stage_(stage), way_(way), jobs_(stage.schema(), way.with_actor) {}

  /// The first job prepares the statements, whose texts hold this run's schema and so have no fixed
  /// length: its bytes are not counted, its WAL is like any other's. Ids of three digits, for the
  /// same reason.
  Result<std::uint64_t> run() {
    auto caller = Caller::open(stage_, way_.subject, way_.with_actor);
    if (!caller) return fail(caller.error());
    if (auto first = step(**caller, 100); !first) return fail(first.error());
    const pg::Counters before = (*caller)->queue().counters();
    const IoScope io;
    for (std::uint64_t i = 1; i <= kOperations; ++i) {
      if (auto done = step(**caller, 100 + i); !done) return fail(done.error());
    }
    work_ = Work{before, (*caller)->queue().counters(), io.so_far()};
    return kOperations + 1;
  }

  [[nodiscard]] const std::optional<Work>& work() const noexcept { return work_; }

 private:
  Result<void> step(Caller& caller, std::uint64_t id) {
    auto job = way_.writes ? jobs_.write(kTenant, id, 0) : jobs_.read(kTenant, id, 0);
    const auto answers = caller.run(caller.queue().run(std::move(job)));
    if (!answers) return fail(answers.error());
    if (answers->front().size() == 1 && foreign_rows(*answers, kTenant) == 0) return {};
    return fail(Errc::kInternal, "wrong: not one row of the job's tenant");
  }

  Stage& stage_;
  const Way way_;
  const Jobs jobs_;
  std::optional<Work> work_;
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
  if (io_is_counted()) per_operation("sends_per_op", work.io.sends);
}

void run_work(Case& c, const Way& way) {
  auto stage = make_stage("work");
  if (!stage) return c.fail(stage.error());
  Pass pass(**stage, way);
  count_wal(c, (*stage)->server(),
            {[&] { return (*stage)->refill(); }, [&] { return pass.run(); }});
  if (!c.failed() && !pass.work()) {  // The server is not ours, so there was no pass.
    if (const auto done = pass.run(); !done) return c.fail(done.error());
  }
  if (!c.failed()) report(c, *pass.work());
}

void add(const Way& way) {
  work_case(fmt::format("{}/{}/work_{}/binds:{}", kGroup, rls::name(way.subject),
                        way.writes ? "write" : "read", way.with_actor ? 4 : 3),
            [way](Case& c) { run_work(c, way); });
}

}  // namespace

void register_work_cases() {
  using rls::Subject;
  add({Subject::kPipelined, true, false});
  if (size() == Size::kSmoke) return;
  add({Subject::kPipelined, false, false});
  add({Subject::kPipelined, true, true});
  add({Subject::kSerial, false, false});
  add({Subject::kSerial, true, false});
}

}  // namespace plimsoll::bench
