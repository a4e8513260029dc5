#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/lease_claims/audit.hpp"
#include "bench/lease_claims/stage.hpp"
#include "lib/lease_claims/control_pgtest.hpp"

namespace plimsoll::bench {

inline constexpr std::size_t kLimit = 4;  ///< Of rows in one claim.

/// A stage of eight schedules of one tenant under the triggers of `audit_sql`, and a worker.
class Audited : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = fixtures::Infra::instance().postgres();
    ASSERT_TRUE(server) << server.error().message;
    auto stage = Stage::make(*server, "audit", Rows{1, 8, Rows::Due::kAll});
    ASSERT_TRUE(stage) << stage.error().message;
    stage_ = std::move(*stage);
    sql(audit_sql(kLimit));
    worker_ = std::make_unique<lease::Worker>(stage_->dsn());
  }

  void sql(const std::string& text) {
    const auto done = stage_->run(text);
    if (!done) throw std::runtime_error(done.error().message);
  }
  std::int64_t number(std::string_view text) {
    const auto value = stage_->number(std::string(text));
    if (!value) throw std::runtime_error(value.error().message);
    return *value;
  }
  /// As before the first claim.
  void begin_anew() {
    ASSERT_TRUE(stage_->refill());
    sql("TRUNCATE audit");
  }
  /// The counts that are not 0, of those that need no time to pass.
  std::map<std::string, std::int64_t> red() {
    std::map<std::string, std::int64_t> found;
    const auto look = [&](const Count& each) {
      if (const auto value = number(each.sql); value != 0) found.emplace(each.invariant, value);
    };
    for (const Count& each : table_counts()) look(each);
    for (const Count& each : noted_counts()) look(each);
    return found;
  }
  lease::Statements statements(lease::Subject subject = lease::Subject::kSkipLockedBatch) const {
    return *lease::statements_for(subject, stage_->schema());
  }
  static lease::Claimer with_claim(lease::Statements all, lease::Statement claim) {
    all.claim = std::move(claim);
    return lease::Claimer(std::move(all));
  }
  static lease::Claimer with_fire(lease::Statements all, lease::Statement fire) {
    all.fire = std::move(fire);
    return lease::Claimer(std::move(all));
  }
  std::vector<lease::Lease> claim(const lease::Claimer& claimer, std::size_t limit = 1,
                                  std::chrono::milliseconds ttl = lease::kLong,
                                  std::string owner = "worker") {
    auto leases = worker_->run(claimer.claim(
        worker_->connection(), lease::request(stage_->tenant(0), limit, ttl, std::move(owner))));
    if (!leases || leases->empty()) throw std::runtime_error("no lease");
    return *leases;
  }
  bool fire(const lease::Claimer& claimer, const lease::Lease& lease) {
    return worker_->run(claimer.fire(worker_->connection(), lease)).has_value();
  }
  static void outlast(std::chrono::milliseconds ttl) {
    std::this_thread::sleep_for(ttl + std::chrono::milliseconds{20});
  }
  /// The first schedule, back on the slot before its next.
  void move_back() {
    sql("UPDATE schedules SET next_fire = next_fire - interval '60 s', next_local = next_local - "
        "interval '60 s' WHERE schedule = 1");
  }
  /// One claim waits in a transaction while another one is tried.
  void claim_twice_at_once(const lease::Claimer& claimer) {
    lease::Worker other(stage_->dsn());
    ASSERT_TRUE(worker_->run(worker_->connection().query("BEGIN")));
    (void)claim(claimer);
    std::atomic<bool> done{false};
    std::thread second([&] {
      (void)other.run(claimer.claim(other.connection(), lease::request(stage_->tenant(0))));
      done = true;
    });
    const std::string waits = fmt::format(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = {} AND wait_event_type = 'Lock'",
        other.connection().backend_pid());
    while (!done && number(waits) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(worker_->run(worker_->connection().query("COMMIT")));
    second.join();
  }

  std::unique_ptr<Stage> stage_;
  std::unique_ptr<lease::Worker> worker_;
};

}  // namespace plimsoll::bench
