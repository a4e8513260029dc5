// A server that is restarted, and one that is killed, under the jobs of many callers.
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <thread>

#include "fixtures/postgres/local.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/rls_queue/database_pgtest.hpp"

namespace plimsoll::rls {
namespace {

using std::chrono::milliseconds;

class Restart : public RlsTest {
 protected:
  static constexpr std::size_t kCallers = 16;
  static constexpr std::uint64_t kJobsEach = 150;

  void SetUp() override {
    auto started = fixtures::LocalPostgres::start();
    ASSERT_TRUE(started) << started.error().message;
    local_.emplace(std::move(*started));
    fixtures::Postgres server;
    server.dsn = local_->dsn();
    server.provider = fixtures::Provider::kLocal;
    build(server, Protection{});
  }
  void TearDown() override {
    sql_.reset();
    role_.reset();
    schema_.reset();
    local_.reset();
  }

  /// Notes what was acknowledged; goes on after errors until it has its share of successes.
  asio::awaitable<bool> caller(Queue& queue, std::uint64_t number) {
    for (std::uint64_t n = 0; n < kJobsEach;) {
      auto ended = co_await queue.run(log("a", number, static_cast<int>(n)));
      if (ended) {
        ++n;
        ++acknowledged_;
        continue;
      }
      ++errors_[std::string(plimsoll::name(ended.error().code))];
      asio::steady_timer pause(loop_.context(), milliseconds(5));
      co_await pause.async_wait(kAsValue);
    }
    co_return true;
  }

  template <class Disturb>
  void run_under(const Disturb& disturb) {
    Config how = config(Subject::kPool);
    how.depth = 4;
    const auto queue = open(how);
    std::thread disturber([&] {
      while (acknowledged_ < kCallers * kJobsEach / 4) std::this_thread::sleep_for(milliseconds(2));
      disturb();
    });
    std::vector<asio::awaitable<bool>> callers;
    for (std::uint64_t i = 0; i < kCallers; ++i) callers.push_back(caller(*queue, i));
    loop_.run_all(std::move(callers));
    disturber.join();
    EXPECT_GT(errors_["unavailable"], 0U) << "nobody noticed";
    for (const auto& [kind, count] : errors_) EXPECT_EQ(kind, "unavailable") << count;
    Plain after(schema_->dsn());
    const std::string kept = "SELECT count(DISTINCT (caller, n)) FROM " + schema_->name() + ".log";
    EXPECT_EQ(after.number(kept), static_cast<std::int64_t>(kCallers * kJobsEach));
    EXPECT_EQ(identities_left(*queue), 0);
  }

  std::optional<fixtures::LocalPostgres> local_;
  std::atomic<std::uint64_t> acknowledged_{0};
  std::map<std::string, std::uint64_t> errors_;
};

TEST_F(Restart, CallersGoOnAndNothingAcknowledgedIsLost) {
  run_under([&] {
    const auto restarted = local_->restart();
    EXPECT_TRUE(restarted) << restarted.error().message;
  });
}

TEST_F(Restart, TheSameAfterAServerThatWasKilled) {
  run_under([&] {
    const auto killed = local_->kill9();
    EXPECT_TRUE(killed) << killed.error().message;
    const auto restarted = local_->restart();
    EXPECT_TRUE(restarted) << restarted.error().message;
  });
}

}  // namespace
}  // namespace plimsoll::rls
