#include <stdexcept>

#include "fixtures/postgres/local.hpp"
#include "lib/pg/copy_pgtest.hpp"
#include "lib/pg/outcome.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CopyFaults : public CopyTest {
 protected:
  std::string is_copying() const {
    return "EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'COPY%' AND "
           "pid = " +
           std::to_string(copier_->backend_pid()) + ")";
  }
  std::string is_gone() const {
    return "NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = " +
           std::to_string(copier_->backend_pid()) + ")";
  }
  void kill() {
    plain().text("SELECT pg_terminate_backend(" + std::to_string(copier_->backend_pid()) +
                 ", 60000)");
  }
};

// In the select list it streams; in FROM it would first be stored as a whole.
const std::string kEndlessQuery = "SELECT generate_series(1, 1000000000)";

TEST_F(CopyFaults, AnErrorInARowSaysWhichOneAndNothingIsKept) {
  const auto bad_line = source_of([](CopyWriter& writer) -> Result<bool> {
    for (int row = 1; row <= 100; ++row) writer.row().text(row == 42 ? "secret" : "1");
    return false;
  });
  const auto copied = run(copier_->copy_in(in(CopyFormat::kText), bad_line));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::kRejected);
  EXPECT_EQ(copied.error().sqlstate, "22P02");
  EXPECT_THAT(copied.error().message, HasSubstr("(COPY t, line 42, column n)"));
  EXPECT_EQ(stored(), "0");
  expect_usable();
}

TEST_F(CopyFaults, AConstraintAndAWrongWidthAreTheServersErrors) {
  plain().text("ALTER TABLE t ADD CHECK (n <> 500)");
  const auto checked = run(copier_->copy_in(in(), numbers(1000)));
  EXPECT_EQ(checked.error().sqlstate, "23514");
  EXPECT_THAT(checked.error().message, HasSubstr("line 500"));
  const auto wide = run(copier_->copy_in(in(), source_of([](CopyWriter& writer) -> Result<bool> {
                                           writer.row().int8(1);
                                           return false;
                                         })));
  EXPECT_EQ(wide.error().sqlstate, "22P03") << wide.error().message;
  EXPECT_EQ(stored(), "0");
  expect_usable();
}

TEST_F(CopyFaults, ASourceWithoutEndIsStoppedByTheServersError) {
  plain().text("ALTER TABLE t ADD CHECK (n <> 7)");
  const auto copied = run(copier_->copy_in(in(), endless(), 60s));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().sqlstate, "23514") << copied.error().message;
  expect_usable();
}

TEST_F(CopyFaults, ANoticeOnTheWayIsNoError) {
  plain().text(
      "CREATE FUNCTION speak() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN RAISE WARNING 'row %', new.n; RETURN new; END $$;"
      "CREATE TRIGGER speak BEFORE INSERT ON t FOR EACH ROW WHEN (new.n % 1000 = 0) "
      "EXECUTE FUNCTION speak()");
  EXPECT_EQ(run(copier_->copy_in(in(), numbers(100'000))), 100'000U);
}

TEST_F(CopyFaults, AnErrorBeforeTheFirstRowLeavesTheConnectionInOrder) {
  // The statement trigger fails after the server has asked for rows and before it reads any.
  plain().text(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN RAISE EXCEPTION 'not now'; END $$;"
      "CREATE TRIGGER refuse BEFORE INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION refuse()");
  for (int time = 0; time < 3; ++time) {
    EXPECT_EQ(run(copier_->copy_in(in(), numbers(10'000))).error().sqlstate, "P0001");
  }
  plain().text("DROP TRIGGER refuse ON t");
  expect_usable();
}

TEST_F(CopyFaults, AnErrorOfTheQueryIsToldAfterTheRowsBeforeIt) {
  std::uint64_t seen = 0;
  const auto copied = run(
      copier_->copy_out(copy_out_sql("SELECT 1 / (n - 90000) FROM generate_series(1, 100000) n"),
                        sink_of([&](const CopyRows& rows) -> Result<void> {
                          seen += rows.size();
                          return {};
                        })));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().sqlstate, "22012");
  EXPECT_GT(seen, 0U);
  expect_usable();
}

TEST_F(CopyFaults, WhatIsNoCopyIsRefused) {
  for (const char* sql : {"SELECT 1", "COPY (SELECT 1) TO STDOUT", ""}) {
    const auto copied = run(copier_->copy_in(sql, numbers(1)));
    ASSERT_FALSE(copied) << sql;
    EXPECT_EQ(copied.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(copied.error().message, HasSubstr("FROM STDIN"));
  }
  for (const std::string& sql : {"SELECT 1"s, in()}) {
    const auto copied = run(copier_->copy_out(sql, nowhere()));
    ASSERT_FALSE(copied) << sql;
    EXPECT_THAT(copied.error().message, HasSubstr("TO STDOUT"));
  }
  EXPECT_EQ(run(copier_->copy_in("COPY nowhere FROM STDIN", numbers(1))).error().sqlstate, "42P01");
  EXPECT_EQ(run(copier_->copy_in("COPY\0"s, numbers(1))).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(stored(), "0");
  expect_usable();
}

TEST_F(CopyFaults, ARowThatTheWriterRefusesUndoesTheCopy) {
  plain().text("CREATE TABLE texts (s text)");
  const auto copied = run(
      copier_->copy_in(*copy_in_sql("texts", {}), source_of([](CopyWriter& writer) -> Result<bool> {
        for (int row = 0; row < 20'000; ++row) writer.row().text("fine");
        writer.row().text("not\0so"s);
        return true;
      })));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(copied.error().message,
              AllOf(HasSubstr("row 20001"), HasSubstr("NUL"), HasSubstr("can be used again")));
  EXPECT_EQ(plain().text("SELECT count(*) FROM texts"), "0");
  expect_usable();
}

TEST_F(CopyFaults, ASourceThatFailsOrThrowsUndoesTheCopy) {
  int turns = 0;
  const auto failing = source_of([&](CopyWriter& writer) -> Result<bool> {
    if (++turns > 3) return fail(Errc::kNotFound, "no more input");
    while (!writer.is_full()) writer.row().int4(1);
    return true;
  });
  const auto failed = run(copier_->copy_in(in(), failing));
  EXPECT_EQ(failed.error().code, Errc::kNotFound);
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("no more input"), HasSubstr("can be used again")));
  const auto thrown = run(copier_->copy_in(
      in(), source_of([](CopyWriter&) -> Result<bool> { throw std::runtime_error("torn"); })));
  EXPECT_EQ(thrown.error().code, Errc::kInternal);
  EXPECT_THAT(thrown.error().message, HasSubstr("torn"));
  EXPECT_EQ(stored(), "0");
  expect_usable();
}

TEST_F(CopyFaults, ASinkThatFailsOrThrowsEndsTheCopy) {
  const auto failed = run(copier_->copy_out(
      copy_out_sql(kEndlessQuery),
      sink_of([](const CopyRows&) -> Result<void> { return fail(Errc::kBusy, "disk full"); })));
  EXPECT_EQ(failed.error().code, Errc::kBusy);
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("disk full"), HasSubstr("can be used again")));
  const auto thrown = run(copier_->copy_out(
      copy_out_sql(kEndlessQuery),
      sink_of([](const CopyRows&) -> Result<void> { throw std::runtime_error("torn"); })));
  EXPECT_EQ(thrown.error().code, Errc::kInternal);
  expect_usable();
}

TEST_F(CopyFaults, DataThatIsNotOfTheFormatLosesTheConnection) {
  const auto copied =
      run(copier_->copy_out("COPY (VALUES ('a', 'b')) TO STDOUT (FORMAT csv)", nowhere()));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::kProtocol);
  EXPECT_FALSE(copier_->is_open());
  EXPECT_EQ(run(copier_->copy_in(in(), numbers(1))).error().code, Errc::kProtocol);
}

TEST_F(CopyFaults, ATimeoutOfACopyInKeepsNothingAndTheNextCopyWaitsForTheEndOfIt) {
  for (int time = 0; time < 3; ++time) {
    const auto copied = run(copier_->copy_in(in(), endless(), 30ms));
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().code, Errc::kTimeout);
    EXPECT_FALSE(is_outcome_unknown(copied.error())) << "its end was never sent";
    EXPECT_EQ(stored(), "0");
  }
  expect_usable();
}

TEST_F(CopyFaults, ATimeoutOfACopyOutEndsItOnTheServer) {
  for (int time = 0; time < 3; ++time) {
    const auto copied = run(copier_->copy_out(copy_out_sql(kEndlessQuery), nowhere(), 30ms));
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().code, Errc::kTimeout);
  }
  // The loop came to an end, so the clean-up did.
  EXPECT_EQ(plain().text("SELECT " + is_copying()), "f");
  expect_usable();
}

TEST_F(CopyFaults, ATimeoutBehindALockIsUndoneToo) {
  plain().text("BEGIN; LOCK TABLE t");
  EXPECT_EQ(run(copier_->copy_in(in(), numbers(1), 50ms)).error().code, Errc::kTimeout);
  plain().text("ROLLBACK");
  EXPECT_EQ(stored(), "0");
  plain().text("ALTER TABLE t ADD UNIQUE (n)");
  plain().text("BEGIN; INSERT INTO t VALUES (1)");
  const auto blocked = run(copier_->copy_in(in(), numbers(1), 50ms));
  EXPECT_EQ(blocked.error().code, Errc::kTimeout);
  EXPECT_TRUE(is_outcome_unknown(blocked.error())) << "all rows were sent";
  plain().text("ROLLBACK");
  EXPECT_EQ(stored(), "0");
  expect_usable();
}

asio::awaitable<Result<std::uint64_t>> give_up_on(asio::awaitable<Result<std::uint64_t>> work) {
  auto ended = co_await with_timeout(std::move(work), 30ms);
  if (ended) co_return std::move(*ended);
  co_return fail(Errc::kCancelled, "as expected");
}

TEST_F(CopyFaults, ACancelledCallerLeavesTheConnectionUsableInBothDirections) {
  EXPECT_EQ(run(give_up_on(copier_->copy_in(in(), endless()))).error().message, "as expected");
  EXPECT_EQ(stored(), "0");
  expect_usable();
  const auto out = run(give_up_on(copier_->copy_out(copy_out_sql(kEndlessQuery), nowhere())));
  EXPECT_EQ(out.error().message, "as expected");
  expect_usable();
}

asio::awaitable<Result<std::uint64_t>> after(CopyFaults* test, std::string condition,
                                             std::function<void()> act) {
  EXPECT_TRUE(test->plain().becomes_true(condition));
  act();
  co_return 0;
}

TEST_F(CopyFaults, ABackendKilledWhileItTakesRowsIsNoticedAndKeepsNothing) {
  std::vector<asio::awaitable<Result<std::uint64_t>>> works;
  works.push_back(copier_->copy_in(in(), endless(), 100s));
  works.push_back(after(this, is_copying(), [this] { kill(); }));
  const auto results = run_all(std::move(works));
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Errc::kUnavailable) << results[0].error().message;
  EXPECT_FALSE(is_outcome_unknown(results[0].error()));
  EXPECT_FALSE(copier_->is_open());
  EXPECT_EQ(stored(), "0");
  EXPECT_EQ(run(copier_->copy_in(in(), numbers(1))).error().code, Errc::kUnavailable);
}

TEST_F(CopyFaults, ABackendKilledWhileItSendsRowsIsNoticed) {
  std::vector<asio::awaitable<Result<std::uint64_t>>> works;
  works.push_back(copier_->copy_out(copy_out_sql(kEndlessQuery), nowhere(), 100s));
  works.push_back(after(this, is_copying(), [this] { kill(); }));
  const auto results = run_all(std::move(works));
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Errc::kUnavailable) << results[0].error().message;
  EXPECT_FALSE(copier_->is_open());
}

TEST_F(CopyFaults, AServerKilledMidCopyKeepsNothingOfIt) {
  auto server = fixtures::LocalPostgres::start();
  ASSERT_TRUE(server) << server.error().message;
  Plain(server->dsn()).text("CREATE TABLE t (n int)");
  auto copier = run(Copier::connect(Config(server->dsn())));
  ASSERT_TRUE(copier) << copier.error().message;
  int turns = 0;
  const auto killing = source_of([&](CopyWriter& writer) -> Result<bool> {
    if (++turns == 5) {
      EXPECT_TRUE(server->kill9());
    }
    while (!writer.is_full()) writer.row().int4(1);
    return true;
  });
  const auto copied = run((*copier)->copy_in(in(), killing, 100s));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::kUnavailable) << copied.error().message;
  EXPECT_FALSE((*copier)->is_open());
  const auto restarted = server->restart();
  ASSERT_TRUE(restarted) << restarted.error().message;
  EXPECT_EQ(Plain(server->dsn()).text("SELECT count(*) FROM t"), "0");
}

TEST_F(CopyFaults, ClosingEndsACopyThatIsGoingOn) {
  const auto gone = is_gone();
  std::vector<asio::awaitable<Result<std::uint64_t>>> works;
  works.push_back(copier_->copy_out(copy_out_sql(kEndlessQuery), nowhere(), 100s));
  works.push_back(after(this, is_copying(), [this] { copier_.reset(); }));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().code, Errc::kUnavailable);
  EXPECT_THAT(results[0].error().message, HasSubstr("closed by its owner"));
  EXPECT_TRUE(plain().becomes_true(gone));
}

TEST_F(CopyFaults, NoMessageHoldsAPassword) {
  const auto copier = run(Copier::connect(Config("host=/nonexistent password=hidden")));
  ASSERT_FALSE(copier);
  EXPECT_EQ(copier.error().code, Errc::kUnavailable);
  EXPECT_THAT(copier.error().message, Not(HasSubstr("hidden")));
}

asio::awaitable<void> copy_for_ever(Config where, std::string sql) {
  auto copier = co_await Copier::connect(where);
  if (!copier) co_return;
  auto copied = co_await (*copier)->copy_in(sql, endless());
  EXPECT_FALSE(copied);
}

TEST_F(CopyFaults, ALoopMayEndWithACopyGoingOn) {
  // Nothing may leak or be touched afterwards: the sanitizers look.
  asio::io_context loop{1};
  asio::co_spawn(loop, copy_for_ever(config(), in()), [](const std::exception_ptr&) {});
  const auto stop = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < stop) loop.run_for(10ms);
}

}  // namespace
}  // namespace plimsoll::pg
