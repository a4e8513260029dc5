// A server that goes away under the store's callers, and comes back. What becomes of acknowledged
// writes when it is killed: bench/kv_store/crash_pgtest.cpp.
#include <fmt/format.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "fixtures/postgres/local.hpp"
#include "lib/core/clock.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/kv_store/database_pgtest.hpp"
#include "lib/pg/outcome.hpp"

namespace plimsoll::kv {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

class Faults : public PostgresTest {};

TEST_F(Faults, AConnectionThatTheServerEndsIsReplaced) {
  good(store_->set("acme", Write("k", "v")));
  good(store_->get("acme", "k"));
  db_.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
      "AND application_name = 'plimsoll' AND query LIKE '%" +
      db_.schema() + "%'");
  // At most one call of each connection finds out.
  for (int i = 0; i < 2; ++i) {
    const auto read = run(store_->get("acme", "k"));
    if (!read) {
      EXPECT_EQ(read.error().code, Errc::kUnavailable);
    }
    const auto written = run(store_->set("acme", Write("k", "again")));
    if (!written) {
      EXPECT_EQ(written.error().code, Errc::kUnavailable);
    }
  }
  EXPECT_TRUE(good(store_->get("acme", "k")));
  EXPECT_GT(good(store_->set("acme", Write("k", "v"))), 0);
}

TEST_F(Faults, WithoutAServerEachCallIsToldSoAndThatNothingWasSent) {
  PostgresConfig config;
  config.connection = pg::Config("host=/nowhere-to-be-found");
  config.schema = "any";
  auto store = make(config);
  const auto read = run(store->get("acme", "k"));
  EXPECT_EQ(read.error().code, Errc::kUnavailable);
  EXPECT_TRUE(read.error().unsent);
  const auto again = run(store->get("acme", "k"));
  EXPECT_EQ(again.error().code, Errc::kUnavailable) << "the pause, too, is a typed error";
  const auto written = run(store->set("acme", Write("k", "v")));
  EXPECT_EQ(written.error().code, Errc::kUnavailable);
  EXPECT_FALSE(pg::is_outcome_unknown(written.error())) << written.error().message;
}

TEST_F(Faults, AWriteThatRunsOutOfTimeSaysThatItMayBeDoneAndHoldsUpNobodyElse) {
  good(store_->set("acme", Write("held", "v")));
  db_.sql("BEGIN; SELECT FROM entries WHERE key = 'held' FOR UPDATE");
  auto config = db_.config();
  config.commit.item_timeout = 300ms;
  config.commit.statement_timeout = 300ms;
  auto store = make(config);
  const auto late = run(store->set("acme", Write("held", "late")));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().code, AnyOf(Errc::kTimeout, Errc::kCancelled));
  EXPECT_TRUE(good(store->get("acme", "held")));
  db_.sql("ROLLBACK");
  EXPECT_GT(good(store->set("acme", Write("held", "fine"))), 0);
}

/// Callers that write keys of their own without end, on a thread with a loop, while the test
/// disturbs the server. Each writes down what was acknowledged.
class Restarted : public ::testing::Test {
 protected:
  static constexpr int kCallers = 8;

  void SetUp() override {
    auto server = fixtures::LocalPostgres::start();
    ASSERT_TRUE(server) << server.error().message;
    server_.emplace(std::move(*server));
    auto sql = fixtures::Client::connect(server_->dsn());
    ASSERT_TRUE(sql) << sql.error().message;
    ASSERT_TRUE(sql->query("CREATE SCHEMA kv"));
    PostgresConfig config;
    config.connection = pg::Config(server_->dsn());
    config.schema = "kv";
    auto store = PostgresStore::make(loop_.executor(), config);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    ASSERT_TRUE(loop_.run(store_->install()));
  }

  asio::awaitable<bool> call(int caller) {
    const std::string key = "caller" + std::to_string(caller);
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (int number = 1; !stop_; ++number) {
      Write write(key, std::to_string(number));
      Result<Version> version = co_await store_->set("acme", std::move(write));
      if (version) {
        acknowledged_[caller] = number;
        ++count_;
        continue;
      }
      kinds_.insert(version.error().code);
      pause.expires_after(10ms);
      [[maybe_unused]] const auto waited = co_await pause.async_wait(kAsValue);
    }
    co_return true;
  }
  void call_until_stopped() {
    std::vector<asio::awaitable<bool>> works;
    for (int caller = 0; caller < kCallers; ++caller) works.push_back(call(caller));
    loop_.run_all(std::move(works));
  }
  /// False where nothing was acknowledged for a minute.
  bool goes_on() {
    const std::uint64_t before = count_;
    const auto give_up = Clock::now() + 60s;
    while (count_ < before + 20 && Clock::now() < give_up) std::this_thread::sleep_for(2ms);
    return count_ >= before + 20;
  }

  std::optional<fixtures::LocalPostgres> server_;
  Loop loop_;
  std::unique_ptr<PostgresStore> store_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> count_{0};
  std::map<int, int> acknowledged_;
  std::set<Errc> kinds_;
};

TEST_F(Restarted, UnderLoadLosesNothingAndTellsEachCallerByATypedError) {
  std::thread callers([this] { call_until_stopped(); });
  EXPECT_TRUE(goes_on());
  const auto stopped = server_->stop();
  EXPECT_TRUE(stopped) << stopped.error().message;
  const auto restarted = server_->restart();
  EXPECT_TRUE(restarted) << restarted.error().message;
  EXPECT_TRUE(goes_on()) << "the store did not find its way back";
  stop_ = true;
  callers.join();
  EXPECT_FALSE(kinds_.empty()) << "nobody noticed the restart";
  for (const Errc kind : kinds_) {
    EXPECT_THAT(kind, AnyOf(Eq(Errc::kUnavailable), Eq(Errc::kConflict), Eq(Errc::kCancelled),
                            Eq(Errc::kBusy)));
  }
  auto sql = fixtures::Client::connect(server_->dsn());
  ASSERT_TRUE(sql) << sql.error().message;
  for (const auto& [caller, number] : acknowledged_) {
    const auto rows =
        sql->query(fmt::format("SELECT value FROM kv.entries WHERE key = 'caller{}'", caller));
    ASSERT_TRUE(rows && rows->size() == 1);
    EXPECT_GE(std::stoi(rows->front().front()), number) << "lost of caller " << caller;
  }
}

}  // namespace
}  // namespace plimsoll::kv
