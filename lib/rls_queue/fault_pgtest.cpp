// Time-outs, cancellations and connections that go away.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include "lib/rls_queue/database_pgtest.hpp"

namespace plimsoll::rls {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class EveryFault : public EverySubject {
 protected:
  static Job sleep(milliseconds timeout) {
    Job job(as("b"), pg::Query("SELECT pg_sleep(60)"));
    job.timeout = timeout;
    return job;
  }
  /// A condition: somebody of ours is inside pg_sleep.
  [[nodiscard]] std::string sleeps() const {
    return fmt::format(
        "EXISTS (SELECT FROM pg_stat_activity WHERE usename = '{}' AND wait_event = 'PgSleep')",
        role_->name());
  }
  void kill_all(const std::string& more = "") {
    sql(fmt::format(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{}' {}",
        role_->name(), more));
  }
  /// Runs `job` and has it cancelled when `when` holds; the others are started behind it.
  Result<Answers> cancelled(Queue& queue, Job job, const std::string& when,
                            std::vector<Job> others) {
    asio::cancellation_signal signal;
    std::optional<Result<Answers>> result;
    std::size_t left = others.size() + 1;
    const auto count = [&] {
      if (--left == 0) loop_.context().stop();
    };
    asio::co_spawn(loop_.context(), queue.run(std::move(job)),
                   asio::bind_cancellation_slot(
                       signal.slot(), [&](const std::exception_ptr& thrown, Result<Answers> value) {
                         if (thrown) std::rethrow_exception(thrown);
                         result.emplace(std::move(value));
                         count();
                       }));
    for (auto& other : others) {
      asio::co_spawn(loop_.context(), queue.run(std::move(other)),
                     [&](const std::exception_ptr& thrown, const Result<Answers>& value) {
                       if (thrown) std::rethrow_exception(thrown);
                       EXPECT_TRUE(value) << value.error().message;
                       count();
                     });
    }
    loop_.context().restart();
    loop_.context().run_for(milliseconds(50));
    EXPECT_TRUE(plain().becomes_true(when));
    signal.emit(asio::cancellation_type::terminal);
    loop_.context().run_for(std::chrono::minutes(2));
    if (left != 0) throw std::runtime_error("hangs after a cancellation");
    return std::move(*result);
  }
};

TEST_P(EveryFault, ATimeOutHitsItsOwnJobOnly) {
  const auto queue = this->queue();
  std::vector<Job> jobs;
  jobs.push_back(sleep(milliseconds(200)));
  for (int i = 0; i < 20; ++i) jobs.push_back(look(i % 2 == 0 ? "a" : "c"));
  const auto results = run_all(*queue, std::move(jobs));
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Errc::kTimeout);
  for (std::size_t i = 1; i < results.size(); ++i) {
    EXPECT_TRUE(results[i]) << results[i].error().message;
  }
  EXPECT_EQ(number(kForeignRows), 0);
  EXPECT_EQ(number("SELECT count(*) FROM seen"), 20);
  EXPECT_EQ(identities_left(*queue), 0);
}

TEST_P(EveryFault, ACancellationHitsItsOwnJobOnly) {
  const auto queue = this->queue();
  std::vector<Job> others;
  for (int i = 0; i < 20; ++i) others.push_back(look(i % 2 == 0 ? "a" : "c"));
  const auto result =
      cancelled(*queue, sleep(std::chrono::minutes(1)), sleeps(), std::move(others));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kCancelled);
  EXPECT_EQ(number(kForeignRows), 0);
  EXPECT_EQ(number("SELECT count(*) FROM seen"), 20);
  EXPECT_EQ(identities_left(*queue), 0);
}

TEST_P(EveryFault, AJobThatTimesOutHalfwayIsUndone) {
  const auto queue = this->queue();
  std::vector<pg::Query> steps;
  steps.emplace_back("UPDATE notes SET version = version + 1");
  steps.emplace_back("SELECT pg_sleep(60)");
  Job job(as("b"), std::move(steps));
  job.timeout = milliseconds(200);
  EXPECT_EQ(run(*queue, std::move(job)).error().code, Errc::kTimeout);
  EXPECT_TRUE(run(*queue, look("b")));
  EXPECT_EQ(number("SELECT sum(version) FROM notes"), 0);
}

TEST_P(EveryFault, AJobWhoseTimeEndsWhileItWaitsIsNeverSent) {
  Config narrow = config(GetParam());
  narrow.depth = 1;
  narrow.connections = 1;
  const auto queue = open(narrow);
  std::vector<Job> jobs;
  jobs.push_back(sleep(milliseconds(1500)));
  Job late = log("a", 1, 1);
  late.timeout = milliseconds(100);
  jobs.push_back(std::move(late));
  const auto results = run_all(*queue, std::move(jobs));
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, Errc::kTimeout);
  EXPECT_THAT(results[1].error().message, HasSubstr("not sent in its time"));
  EXPECT_TRUE(results[1].error().unsent);
  EXPECT_FALSE(results[0].error().unsent);
  EXPECT_TRUE(run(*queue, log("a", 1, 2)));
  EXPECT_EQ(number("SELECT count(*) FROM log"), 1);
}

TEST_P(EveryFault, AJobThatIsCancelledWhileItWaitsIsNeverSent) {
  Config narrow = config(GetParam());
  narrow.depth = 1;
  narrow.connections = 1;
  const auto queue = open(narrow);
  asio::cancellation_signal signal;
  std::optional<Error> error;
  asio::co_spawn(loop_.context(), queue->run(Job(as("b"), pg::Query("SELECT pg_sleep(1)"))),
                 [](const std::exception_ptr&, const Result<Answers>& value) {
                   EXPECT_TRUE(value) << value.error().message;
                 });
  asio::co_spawn(loop_.context(), queue->run(log("a", 1, 1)),
                 asio::bind_cancellation_slot(
                     signal.slot(), [&](const std::exception_ptr&, const Result<Answers>& value) {
                       if (!value) error = value.error();
                     }));
  loop_.context().restart();
  loop_.context().run_for(milliseconds(50));
  EXPECT_EQ(queue->waiting(), 1U);
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_TRUE(run(*queue, log("a", 1, 2)));
  EXPECT_EQ(queue->waiting(), 0U);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Errc::kCancelled);
  EXPECT_EQ(number("SELECT count(*) FROM log"), 1);
}

TEST_P(EveryFault, AKilledConnectionFailsWhatWasUnderWayAndNothingElse) {
  Config narrow = config(GetParam());
  narrow.depth = 2;
  narrow.connections = 1;
  const auto queue = open(narrow);
  std::optional<Error> error;
  std::size_t done = 0;
  asio::co_spawn(loop_.context(), queue->run(sleep(std::chrono::minutes(1))),
                 [&](const std::exception_ptr&, const Result<Answers>& value) {
                   if (!value) error = value.error();
                 });
  for (int n = 0; n < 20; ++n) {
    asio::co_spawn(loop_.context(), queue->run(log("a", 1, n)),
                   [&](const std::exception_ptr&, const Result<Answers>& value) {
                     if (value) ++done;
                     if (!value) {
                       EXPECT_EQ(value.error().code, Errc::kUnavailable);
                     }
                   });
  }
  loop_.context().restart();
  loop_.context().run_for(milliseconds(50));
  EXPECT_TRUE(plain().becomes_true(sleeps()));
  kill_all();
  EXPECT_TRUE(run(*queue, look("a"))) << "it waits for the new connection";
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Errc::kUnavailable);
  EXPECT_FALSE(error->unsent);
  const std::size_t doomed = GetParam() == Subject::kSerial ? 0 : 1;  // The other one in flight.
  EXPECT_EQ(done, 20 - doomed);
  EXPECT_EQ(number("SELECT count(*) FROM log"), static_cast<std::int64_t>(done));
  EXPECT_EQ(number(kOutOfOrder), 0);
  EXPECT_EQ(queue->connections(), 1U);
  EXPECT_EQ(identities_left(*queue), 0);
}

TEST_P(EveryFault, AConnectionThatAnAuditFindsLostIsMadeAnew) {
  const auto queue = this->queue();
  kill_all();
  EXPECT_EQ(identities_left(*queue), 0);
  EXPECT_TRUE(run(*queue, look("a"))) << "and nobody's job has to find out";
}

TEST_P(EveryFault, JobsAreToldWhenNobodyMayLogInAnyMore) {
  const auto queue = this->queue();
  sql("ALTER ROLE " + role_->name() + " NOLOGIN");
  kill_all();
  // The first ones find out that the connections are gone.
  for (std::size_t i = 0; i < 3 && queue->connections() > 0; ++i) {
    std::vector<Job> jobs;
    for (int n = 0; n < 40; ++n) jobs.push_back(log("a", static_cast<std::uint64_t>(n), n));
    for (const auto& result : run_all(*queue, std::move(jobs))) EXPECT_FALSE(result);
  }
  const auto refused = run(*queue, look("a"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kRefused) << refused.error().message;
}

TEST_P(EveryFault, ClosingEndsWhatWaitsAndWhatIsUnderWay) {
  auto queue = this->queue();
  std::vector<Errc> codes;
  for (int i = 0; i < 100; ++i) {
    asio::co_spawn(loop_.context(), queue->run(sleep(std::chrono::minutes(1))),
                   [&](const std::exception_ptr&, const Result<Answers>& value) {
                     codes.push_back(value.error().code);
                   });
  }
  loop_.context().restart();
  loop_.context().run_for(milliseconds(50));
  EXPECT_TRUE(plain().becomes_true(sleeps()));
  auto late = queue->run(look("a"));
  queue.reset();
  const auto refused = loop_.run(std::move(late));
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_EQ(codes, std::vector<Errc>(100, Errc::kUnavailable));
  EXPECT_TRUE(plain().becomes_true("NOT " + sleeps())) << "nothing runs on without its caller";
}

TEST_P(EveryFault, NobodyThereIsToldWhenOpening) {
  Config nowhere = config(GetParam());
  nowhere.connection.dsn = "host=/nonexistent user=nobody";
  const auto refused = loop_.run(Queue::open(nowhere));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
}

INSTANTIATE_TEST_SUITE_P(Subjects, EveryFault, kSubjects, subject_name);

}  // namespace
}  // namespace plimsoll::rls
