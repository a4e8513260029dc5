#include "bench/lease_claims/crew.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bench/lease_claims/audited_pgtest.hpp"

namespace plimsoll::bench {
namespace {

using std::chrono::milliseconds;

class CrewTest : public Audited {
 protected:
  /// 300 ms of claims by four workers whose connections are gone.
  load::Report claims_without_connections() {
    const Duty duty{lease::Subject::kSkipLocked, 4, 1, false, milliseconds{1}};
    load::SubjectThread thread;
    auto crew = Crew::hire(*stage_, duty, thread);
    if (!crew) throw std::runtime_error(crew.error().message);
    (void)number(fmt::format(
        "SELECT count(pg_terminate_backend(pid, 60000)) FROM unnest('{{{}}}'::int[]) AS t (pid)",
        fmt::join((*crew)->backends(), ",")));
    load::Options options;
    options.concurrency = duty.workers;
    options.warmup_floor = options.warmup_cap = milliseconds{0};
    options.window = milliseconds{300};
    Crew& workers = **crew;
    auto report = load::run(options, thread.executor(),
                            [&workers](load::OpContext context) { return workers.turn(context); });
    if (!report) throw std::runtime_error(report.error().message);
    return *report;
  }
};

TEST_F(CrewTest, AWorkerWhoseConnectionIsGoneFailsAndWaits) {
  const load::Ledger books = claims_without_connections().ledger;
  // The first one of each may have arrived; nothing after it was sent at all.
  EXPECT_LE(books.indeterminate, 4U);
  EXPECT_GT(books.failed, 0U);
  EXPECT_EQ(books.ok, 0U);
  // 4 workers, a failure every 10 ms: far below the thousands of a worker that does not wait.
  EXPECT_LE(books.failed, 4U * 40U);
  EXPECT_FALSE(books.imbalance()) << *books.imbalance();
}

}  // namespace
}  // namespace plimsoll::bench
