// A server that is killed under its workers.
#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "fixtures/postgres/local.hpp"
#include "lib/lease_claims/database_pgtest.hpp"

namespace plimsoll::lease {
namespace {

using std::chrono::milliseconds;

/// Workers that claim and fire until all is fired, and connect anew when their connection breaks.
class CrashedServer : public ::testing::Test {
 protected:
  static constexpr int kSchedules = 400;

  void SetUp() override {
    auto server = fixtures::LocalPostgres::start();
    ASSERT_TRUE(server) << server.error().message;
    server_.emplace(std::move(*server));
    Plain sql(server_->dsn());
    sql.rows("CREATE SCHEMA crash");
    sql.rows(*ddl("crash"));
    sql.rows(fmt::format(
        "INSERT INTO crash.schedules (tenant, schedule, next_fire, next_local, period_s) "
        "SELECT 'acme', n, at, at AT TIME ZONE 'UTC', 86400000 FROM generate_series(1, {}) n, "
        "(SELECT now() - interval '1 hour' AS at) moment",
        kSchedules));
  }

  void work() {
    while (!over()) {
      try {
        Worker worker(server_->dsn());
        while (!over() && turn(worker)) {
        }
        fired_ = static_cast<int>(Plain(server_->dsn()).number("SELECT count(*) FROM crash.fires"));
      } catch (const std::exception&) {  // Not back yet.
        std::this_thread::sleep_for(milliseconds(20));
      }
    }
  }

  /// One claim and its fires; false when it found nothing or failed.
  bool turn(Worker& worker) {
    const auto leases =
        worker.run(claimer_.claim(worker.connection(), request("acme", 2, milliseconds{1000})));
    if (!leases) return note(leases.error());
    for (const Lease& lease : *leases) {
      const auto fired = worker.run(claimer_.fire(worker.connection(), lease));
      if (!fired) return note(fired.error());
      const std::lock_guard lock(mutex_);
      acknowledged_.insert(lease.schedule);
      ++fired_;
    }
    if (leases->empty()) std::this_thread::sleep_for(milliseconds(10));
    return !leases->empty();
  }

  bool note(const Error& error) {
    const std::lock_guard lock(mutex_);
    kinds_.emplace(name(error.code));
    return false;
  }
  bool over() const { return fired_ >= kSchedules || Clock::now() > give_up_; }

  std::optional<fixtures::LocalPostgres> server_;
  const Claimer claimer_ = *Claimer::make(Subject::kSkipLockedBatch, "crash");
  const TimePoint give_up_ = Clock::now() + std::chrono::seconds(180);
  std::atomic<int> fired_{0};
  std::mutex mutex_;
  std::set<std::int64_t> acknowledged_;
  std::set<std::string> kinds_;
};

TEST_F(CrashedServer, KeepsEveryAcknowledgedFireAndLosesNone) {
  std::vector<std::thread> workers;
  for (int number = 0; number < 3; ++number) workers.emplace_back([this] { work(); });
  while (fired_ < kSchedules / 4 && !over()) std::this_thread::sleep_for(milliseconds(2));
  const auto killed = server_->kill9();
  EXPECT_TRUE(killed) << killed.error().message;
  const auto restarted = server_->restart();
  EXPECT_TRUE(restarted) << restarted.error().message;
  for (std::thread& worker : workers) worker.join();

  Plain sql(server_->dsn());
  EXPECT_EQ(sql.number("SELECT count(*) FROM crash.fires"), kSchedules) << "lost";
  EXPECT_EQ(sql.number("SELECT count(DISTINCT schedule) FROM crash.fires"), kSchedules)
      << "doubled";
  for (const std::int64_t schedule : acknowledged_) {
    EXPECT_EQ(
        sql.number(fmt::format("SELECT count(*) FROM crash.fires WHERE schedule = {}", schedule)),
        1);
  }
  EXPECT_FALSE(kinds_.empty()) << "nobody noticed the crash";
  for (const std::string& kind : kinds_) {
    EXPECT_THAT(kind,
                testing::AnyOf(name(Errc::kUnavailable), name(Errc::kConflict), name(Errc::kBusy)));
  }
}

}  // namespace
}  // namespace plimsoll::lease
