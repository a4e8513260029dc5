#include "bench/harness/wal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bench/harness/infra.hpp"
#include "bench/harness/session.hpp"
#include "fixtures/postgres/client.hpp"
#include "fixtures/postgres/wal_pass.hpp"

namespace plimsoll::bench {
namespace {

using fixtures::Client;
using ::testing::HasSubstr;

constexpr std::uint64_t kOperations = 200;

Result<void> execute(const std::string& dsn, const std::vector<std::string>& statements,
                     std::uint64_t times = 1) {
  auto client = Client::connect(dsn);
  if (!client) return fail(client.error());
  for (std::uint64_t i = 0; i < times; ++i) {
    for (const std::string& sql : statements) {
      if (const auto done = client->query(sql); !done) return fail(done.error());
    }
  }
  return {};
}

class Wal : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = postgres();
    ASSERT_TRUE(server) << server.error().message;
    server_ = *server;
    if (!server_.may_disturb)
      GTEST_SKIP() << "the pass needs a server of our own, and PLIMSOLL_PG_URL names another";
    auto schema = fixtures::Schema::create(server_, "wal");
    ASSERT_TRUE(schema) << schema.error().message;
    schema_.emplace(std::move(*schema));
    ASSERT_TRUE(execute(schema_->dsn(), {"CREATE TABLE t(id bigint PRIMARY KEY, v text)"}));
  }

  /// `statements` by one caller so many times, over a table of 1000 rows.
  [[nodiscard]] WalPass pass(std::vector<std::string> statements) const {
    const std::string dsn = schema_->dsn();
    return {[dsn] {
              return execute(dsn, {"TRUNCATE t",
                                   "INSERT INTO t SELECT i, 'v' FROM generate_series(1, 1000) i"});
            },
            [dsn, statements = std::move(statements)]() -> Result<std::uint64_t> {
              if (const auto done = execute(dsn, statements, kOperations); !done)
                return fail(done.error());
              return kOperations;
            }};
  }

  fixtures::Postgres server_;
  std::optional<fixtures::Schema> schema_;
};

const char* const kInsert = "INSERT INTO t SELECT coalesce(max(id), 0) + 1, 'some text' FROM t";

TEST_F(Wal, OfEqualWorkIsEqualToTheByte) {
  const auto first = measure_wal(server_, pass({kInsert}));
  ASSERT_TRUE(first) << first.error().message;
  const auto second = measure_wal(server_, pass({kInsert}));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(first->operations, kOperations);
  EXPECT_EQ(first->commits, kOperations);
  EXPECT_GT(first->bytes, kOperations * 100);
  EXPECT_EQ(first->bytes, second->bytes);
  EXPECT_GE(first->fsyncs.value_or(0), kOperations);
}

TEST_F(Wal, OfTwiceTheWorkIsTwiceAsMuch) {
  // Without an index: a page of one splits once in some hundred inserts, at whatever count.
  const std::string dsn = schema_->dsn();
  ASSERT_TRUE(execute(dsn, {"CREATE TABLE heap(v text)"}));
  const auto inserts = [&](std::vector<std::string> statements) {
    WalPass made = pass(std::move(statements));
    made.load = [dsn] { return execute(dsn, {"TRUNCATE heap"}); };
    return made;
  };
  const std::string insert = "INSERT INTO heap VALUES ('some text')";
  const auto once = measure_wal(server_, inserts({insert}));
  const auto twice = measure_wal(server_, inserts({insert, insert}));
  ASSERT_TRUE(once && twice);
  EXPECT_EQ(twice->commits, 2 * kOperations);
  EXPECT_NEAR(static_cast<double>(twice->bytes), 2.0 * static_cast<double>(once->bytes),
              0.01 * static_cast<double>(twice->bytes));
}

TEST_F(Wal, OfReadsIsNothing) {
  const auto cost = measure_wal(server_, pass({"SELECT count(*) FROM t WHERE id < 0"}));
  ASSERT_TRUE(cost) << cost.error().message;
  EXPECT_EQ(cost->commits, 0U);
  EXPECT_EQ(cost->bytes, 0U);
}

TEST_F(Wal, CountsNoFsyncThatTheServerDoesByTheClock) {
  // Nobody waits for these commits, so that only the WAL writer would flush them, five times a
  // second.
  constexpr std::uint64_t kSlow = 10;
  WalPass slow = pass({});
  slow.run = [dsn = schema_->dsn()]() -> Result<std::uint64_t> {
    const auto done =
        execute(dsn, {"SET synchronous_commit = off", kInsert, "SELECT pg_sleep(0.3)"}, kSlow);
    if (!done) return fail(done.error());
    return kSlow;
  };
  const auto cost = measure_wal(server_, slow);
  ASSERT_TRUE(cost) << cost.error().message;
  EXPECT_EQ(cost->commits, kSlow);
  EXPECT_LE(cost->fsyncs.value_or(kSlow), 2U);
}

TEST_F(Wal, CountsNoFsyncThatAnotherSessionHandsInLate) {
  std::optional<Client> other;
  int runs = 0;
  WalPass disturbed = pass({kInsert});
  disturbed.run = [&, run = disturbed.run]() -> Result<std::uint64_t> {
    ++runs;
    other.reset();
    return run();
  };
  auto client = Client::connect(schema_->dsn());
  ASSERT_TRUE(client);
  other.emplace(std::move(*client));
  ASSERT_TRUE(other->query("CREATE TABLE beside(x int)"));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(other->query("INSERT INTO beside VALUES (1)"));
  const auto cost = measure_wal(server_, disturbed);
  ASSERT_TRUE(cost) << cost.error().message;
  EXPECT_EQ(cost->commits, kOperations);
  EXPECT_LE(cost->fsyncs.value_or(0), kOperations + kOperations / 10);
  EXPECT_GE(runs, 2);
}

TEST_F(Wal, ThatCheckpointsFallIntoIsNotBelieved) {
  int runs = 0;
  WalPass interrupted = pass({kInsert});
  interrupted.run = [&, run = interrupted.run]() -> Result<std::uint64_t> {
    ++runs;
    if (const auto done = execute(server_.dsn, {"CHECKPOINT"}); !done) return fail(done.error());
    return run();
  };
  const auto cost = measure_wal(server_, interrupted);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().code, Errc::kBusy);
  EXPECT_THAT(cost.error().message, HasSubstr("checkpoint"));
  EXPECT_EQ(runs, 3) << "it tries again before it gives up";
}

TEST_F(Wal, IsMeasuredByTheSecondPassWhereACheckpointSpoiltTheFirst) {
  int runs = 0;
  WalPass spoilt_once = pass({kInsert});
  spoilt_once.run = [&, run = spoilt_once.run]() -> Result<std::uint64_t> {
    if (++runs == 1) (void)execute(server_.dsn, {"CHECKPOINT"});
    return run();
  };
  const auto clean = measure_wal(server_, pass({kInsert}));
  const auto cost = measure_wal(server_, spoilt_once);
  ASSERT_TRUE(clean && cost);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(cost->bytes, clean->bytes);
}

TEST_F(Wal, PassGivesTheServerBackAsItWas) {
  auto client = Client::connect(server_.dsn);
  ASSERT_TRUE(client);
  std::string during;
  WalPass watching = pass({kInsert});
  watching.run = [&, run = watching.run]() -> Result<std::uint64_t> {
    during = client->query("SHOW autovacuum")->front().front();
    return run();
  };
  ASSERT_TRUE(measure_wal(server_, watching));
  EXPECT_EQ(during, "off");
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  std::string after;
  while (after != "on" && Clock::now() < deadline)
    after = client->query("SHOW autovacuum")->front().front();
  EXPECT_EQ(after, "on");
}

TEST_F(Wal, PassWaitsForAnotherOneNoLongerThanItsPatience) {
  auto other = Client::connect(server_.dsn);
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->query(fixtures::kWalPassLock));
  ASSERT_TRUE(other->query("ALTER SYSTEM SET autovacuum = off"));
  other->limit_to(std::chrono::seconds(20));
  WalPass hasty = pass({kInsert});
  hasty.patience = std::chrono::milliseconds(200);
  const auto cost = measure_wal(server_, hasty);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().code, Errc::kTimeout);
  EXPECT_THAT(cost.error().message, HasSubstr("another WAL pass has held"));
  EXPECT_EQ(other
                ->query("SELECT count(*) FROM pg_file_settings WHERE name = 'autovacuum' AND "
                        "sourcefile LIKE '%auto.conf'")
                ->at(0)
                .at(0),
            "1")
      << "what the other pass turned off stays off";
  EXPECT_TRUE(other->query("ALTER SYSTEM RESET autovacuum"));
}

TEST_F(Wal, PassHandsOnTheErrorOfItsOwnWork) {
  const auto cost = measure_wal(server_, pass({"INSERT INTO no_such_table VALUES (1)"}));
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().sqlstate, "42P01");
}

TEST_F(Wal, IsNotMeasuredOnAServerThatIsNotOurs) {
  fixtures::Postgres foreign = server_;
  foreign.may_disturb = false;
  foreign.display = "postgresql://theirs/db";
  bool touched = false;
  const WalPass never{[&]() -> Result<void> {
                        touched = true;
                        return {};
                      },
                      [&]() -> Result<std::uint64_t> { return 1; }};
  const auto cost = measure_wal(foreign, never);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().code, Errc::kRefused);
  EXPECT_THAT(cost.error().message, HasSubstr("postgresql://theirs/db"));
  EXPECT_FALSE(touched);
}

TEST_F(Wal, PostgresIsInTheContextOfTheFileWithoutItsDsn) {
  const Json& used = used_infra().servers["postgres"];
  EXPECT_EQ(used["version"], server_.version);
  EXPECT_EQ(used["settings_hash"], server_.settings_hash);
  EXPECT_EQ(used_infra().postgres_major, server_.major);
  EXPECT_THAT(used.dump(), ::testing::Not(HasSubstr(server_.dsn)));
}

}  // namespace
}  // namespace plimsoll::bench
