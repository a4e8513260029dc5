// Question: how much work is one claim and one fire, in figures that no neighbour on the machine
//           can change?
// Method:   one caller, 200 operations on freshly loaded pages after a checkpoint, on a connection
//           of its own. Statements, round trips, rows and bytes are what that connection counted,
//           sends and allocations what libc's functions were asked for. WAL, commits and fsyncs:
//           bench/harness/wal.hpp.
// Expect:   one statement, one round trip and one commit each, whatever the batch. A claim writes
//           a row lock and a heap-only update; `update_returning` and `advisory` write no row lock.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/harness/io_counter.hpp"
#include "bench/harness/wal.hpp"
#include "bench/lease_claims/acts.hpp"
#include "bench/lease_claims/cases.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::uint64_t kOperations = 200;

/// A tenant for each operation, so that no claim meets a lease of an earlier one that may or may
/// not have expired. Some more: for the operation that is not counted, and for a stock of leases,
/// which is claimed from ten tenants at once.
Rows rows_for(Act act, std::size_t batch) {
  const int tenants = static_cast<int>(kOperations) + 10;
  if (batch > 1) return Rows{tenants, static_cast<int>(batch), Rows::Due::kAll};
  return act == Act::kClaim ? Rows{tenants, 12, Rows::Due::kAll} : Rows{20, 120, Rows::Due::kAll};
}

/// What one pass did, apart from WAL.
struct Work {
  pg::Counters before{};
  pg::Counters after{};
  IoCounts io{};
};

/// One subject's operation on one stage.
class Pass {
 public:
  Pass(Stage& stage, lease::Claimer claimer, Act act, std::size_t batch)
      : stage_(stage), claimer_(std::move(claimer)), act_(act), batch_(batch) {}

  /// Fills the tables, and claims what the operations will use up.
  Result<void> load() {
    if (auto filled = stage_.refill(); !filled) return filled;
    auto caller = Caller::connect(stage_.dsn());
    if (!caller) return fail(caller.error());
    acts_.emplace(stage_, claimer_, (*caller)->connection(), batch_);
    while (!acts_->stocked(act_, kOperations + 1)) {
      if (auto stocked = (*caller)->run(acts_->restock(act_)); !stocked) return stocked;
    }
    return {};
  }

  /// The first operation prepares the statement, whose text holds this run's schema and so has no
  /// fixed length: its bytes are not counted, its WAL is like any other's.
  Result<std::uint64_t> run() {
    auto caller = Caller::connect(stage_.dsn());
    if (!caller) return fail(caller.error());
    acts_->use((*caller)->connection());
    if (const auto first = (*caller)->run(acts_->step(act_)); !first) return fail(first.error());
    const pg::Counters before = (*caller)->connection().counters();
    const IoScope io;
    for (std::uint64_t i = 0; i < kOperations; ++i) {
      if (const auto done = (*caller)->run(acts_->step(act_)); !done) return fail(done.error());
    }
    work_ = Work{before, (*caller)->connection().counters(), io.so_far()};
    return kOperations + 1;
  }

  [[nodiscard]] const std::optional<Work>& work() const noexcept { return work_; }

 private:
  Stage& stage_;
  const lease::Claimer claimer_;
  const Act act_;
  const std::size_t batch_;
  std::optional<Acts> acts_;
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

void run_work(Case& c, lease::Subject subject, Act act, std::size_t batch) {
  auto stage = make_stage("work", rows_for(act, batch));
  if (!stage) return c.fail(stage.error());
  auto claimer = lease::Claimer::make(subject, (*stage)->schema());
  if (!claimer) return c.fail(claimer.error());
  Pass pass(**stage, std::move(*claimer), act, batch);
  count_wal(c, (*stage)->server(), {[&] { return pass.load(); }, [&] { return pass.run(); }});
  if (!c.failed() && !pass.work()) {  // The server is not ours, so there was no pass.
    const auto loaded = pass.load();
    if (!loaded) return c.fail(loaded.error());
    if (const auto done = pass.run(); !done) return c.fail(done.error());
  }
  if (!c.failed()) report(c, *pass.work());
}

void add(lease::Subject subject, Act act, std::size_t batch) {
  work_case(fmt::format("{}/{}/work_{}/batch:{}", kGroup, lease::name(subject), name(act), batch),
            [subject, act, batch](Case& c) { run_work(c, subject, act, batch); });
}

}  // namespace

void register_work_cases() {
  using lease::Subject;
  add(Subject::kSkipLocked, Act::kClaim, 1);
  if (size() == Size::kSmoke) return;
  add(Subject::kSkipLocked, Act::kFire, 1);
  add(Subject::kSkipLockedBatch, Act::kClaim, 100);
  add(Subject::kSkipLockedBatch, Act::kFire, 100);
  add(Subject::kAdvisory, Act::kClaim, 1);
  add(Subject::kUpdateReturning, Act::kClaim, 1);
}

}  // namespace plimsoll::bench
