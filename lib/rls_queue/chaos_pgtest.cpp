// Everything at once: 10,000 jobs of eight tenants, among them ones that fail, run out of time, are
// cancelled, or turn into another tenant, on connections that are killed. What was seen is counted
// by SQL.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>

#include "lib/core/rng.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/rls_queue/database_pgtest.hpp"

namespace plimsoll::rls {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kJobs = 10'000;
constexpr std::uint64_t kKillEvery = 1000;
constexpr std::size_t kTenants = 8;
constexpr std::size_t kCallers = 48;

class Chaos : public RlsTest {
 protected:
  enum class Act { kLook, kFail, kSleep, kCancel, kBecome };

  void SetUp() override {
    RlsTest::SetUp();
    sql("CREATE FUNCTION become(tenant text, is_local boolean) RETURNS text LANGUAGE sql AS "
        "$$ SELECT set_config('plimsoll.tenant', tenant, is_local) $$; TRUNCATE notes;");
    sql(fmt::format(
        "INSERT INTO notes (tenant, id, body) SELECT t, n, 'x' FROM generate_series(0, {}) "
        "t, generate_series(0, t) n",
        kTenants - 1));
  }

  static Act draw_act(Rng& rng) {
    const auto die = rng.below(100);
    if (die < 70) return Act::kLook;
    if (die < 82) return Act::kFail;
    if (die < 87) return Act::kSleep;
    if (die < 95) return Act::kCancel;
    return Act::kBecome;
  }

  Job draw_job(Rng& rng, Act act, std::size_t caller) {
    const auto tenant = std::to_string(rng.below(kTenants));
    const auto other = std::to_string(rng.below(kTenants));
    std::vector<pg::Query> steps;
    if (act == Act::kBecome) {
      steps.emplace_back("SELECT become($1, $2)", pg::params(other, rng.below(2)));
    }
    steps.emplace_back(std::string(kLook), pg::params(tenant), "look");
    if (act == Act::kFail) steps.emplace_back("SELECT 1 / 0");
    if (act == Act::kSleep) steps.emplace_back("SELECT pg_sleep(0.05)");
    Job job(as(tenant), std::move(steps), caller);
    if (act == Act::kSleep) job.timeout = milliseconds(1 + rng.below(10));
    return job;
  }

  /// One caller's jobs, one after the other.
  asio::awaitable<bool> caller(Queue& queue, std::size_t number) {
    Rng rng = Rng(kSeed).fork(number);
    while (started_ < kJobs) {
      ++started_;
      const Act act = draw_act(rng);
      Job job = draw_job(rng, act, number);
      if (act == Act::kCancel) {
        const auto patience = std::chrono::microseconds(rng.below(3000));
        auto ended = co_await with_timeout(queue.run(std::move(job)), patience);
        note(act, ended);
      } else {
        auto ended = co_await queue.run(std::move(job));
        note(act, std::move(ended));
      }
      if (started_ % kKillEvery == 0) kill_one();
    }
    co_return true;
  }

  void note(Act act, const std::optional<Result<Answers>>& ended) {
    ++counts_[!ended   ? "cancelled"
              : *ended ? "ok"
                       : std::string(plimsoll::name(ended->error().code))];
    if (ended && *ended) looked_ += act == Act::kLook || act == Act::kCancel ? 1 : 0;
    if (ended && !*ended && !expects(act, ended->error())) {
      ++surprises_;
      ADD_FAILURE() << ended->error().message;
    }
  }

  static bool expects(Act act, const Error& error) {
    if (error.code == Errc::kUnavailable) return true;  // Connections are killed.
    if (act == Act::kFail) return error.sqlstate == "22012";
    if (act == Act::kSleep) return error.code == Errc::kTimeout;
    return act == Act::kBecome && error.code == Errc::kRefused;
  }

  // By the server's own list: what stands behind a pooler, the queue does not know.
  void kill_one() {
    kills_ += plain().text(fmt::format(
                  "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity "
                  "WHERE usename = '{}' ORDER BY random() LIMIT 1) one",
                  role_->name())) == "t";
  }

  void run_chaos(Subject subject) {
    Config how = config(subject);
    how.connections = 4;
    how.depth = 8;
    const auto queue = open(how);
    std::vector<asio::awaitable<bool>> callers;
    for (std::size_t i = 0; i < kCallers; ++i) callers.push_back(caller(*queue, i));
    loop_.run_all(std::move(callers));
    EXPECT_EQ(number(kForeignRows), 0) << "rows of another tenant";
    EXPECT_EQ(identities_left(*queue), 0);
    // Whoever looked saw all of its own: as many as its tenant's number says, and one.
    EXPECT_EQ(number("SELECT count(*) FROM seen WHERE rows <> as_tenant::int + 1"), 0);
    EXPECT_GE(number("SELECT count(*) FROM seen"), static_cast<std::int64_t>(looked_));
    EXPECT_GE(kills_, kJobs / kKillEvery / 2) << "at times there was no connection to kill";
    // Each kind was there, or nothing was tried.
    for (const char* const kind :
         {"ok", "cancelled", "rejected", "timeout", "refused", "unavailable"}) {
      EXPECT_GT(counts_[kind], 0U) << kind;
    }
  }

  static constexpr std::uint64_t kSeed = 7;
  std::uint64_t started_ = 0;
  std::uint64_t looked_ = 0;
  std::uint64_t kills_ = 0;
  std::uint64_t surprises_ = 0;
  std::map<std::string, std::uint64_t> counts_;
};

TEST_F(Chaos, NobodySeesAnothersRowsInAPool) { run_chaos(Subject::kPool); }

TEST_F(Chaos, NobodySeesAnothersRowsOnOneConnection) { run_chaos(Subject::kPipelined); }

// Three server connections for four of ours, so that each is handed on all the time.
TEST_F(Chaos, NobodySeesAnothersRowsThroughAPooler) {
  start_pooler(3);
  run_chaos(Subject::kPool);
  EXPECT_EQ(identities_behind_the_pooler(), 0);
}

}  // namespace
}  // namespace plimsoll::rls
