// Question: does a job ever see or write another tenant's rows, or find another's identity, when
//           jobs fail, run out of time, are cancelled and lose their connections?
// Method:   64 callers on a pool of eight; in 100 jobs 12 fail, 3 run out of time, 8 are cancelled
//           and 5 have a function turn them into another tenant; a connection is killed every
//           50 ms; directly and through PgBouncer, whose connections are then those that are
//           killed. Each job writes down as whom it was submitted and whose rows it saw, in a table
//           without policies, counted by SQL. 3,000 jobs in the short form, 50,000 in full,
//           1,000,000 with PLIMSOLL_WEEKLY=1.
// Expect:   all counts 0. The rate is no rate of the group's.
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "bench/harness/case.hpp"
#include "bench/harness/metrics.hpp"
#include "bench/rls_queue/audit.hpp"
#include "bench/rls_queue/cases.hpp"
#include "bench/rls_queue/trouble.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::bench {
namespace {

constexpr int kTenants = 8;
constexpr std::size_t kCallers = 64;
constexpr std::size_t kConnections = 8;

std::uint64_t jobs() {
  const bool weekly = std::getenv("PLIMSOLL_WEEKLY") != nullptr && size() == Size::kFull;
  return weekly ? 1'000'000U : scaled(300U, 3000U, 50'000U);
}

/// Kills one of the role's connections every 50 ms, on a thread of its own.
class Killer {
 public:
  Killer(fixtures::Client client, const std::string& role)
      : client_(std::move(client)),
        sql_(fmt::format("SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity "
                         "WHERE usename = '{}' ORDER BY random() LIMIT 1) one",
                         role)),
        thread_([this] { work(); }) {}
  Killer(const Killer&) = delete;
  Killer& operator=(const Killer&) = delete;
  ~Killer() {
    stop_ = true;
    thread_.join();
  }
  [[nodiscard]] std::uint64_t kills() const noexcept { return kills_; }

 private:
  void work() {
    while (!stop_) {
      const auto killed = client_.query(sql_);
      if (killed && !killed->empty()) ++kills_;
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
  }

  fixtures::Client client_;
  const std::string sql_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> kills_{0};
  std::thread thread_;
};

void judge(Case& c, Stage& stage, Trouble& trouble, std::uint64_t kills) {
  const auto count = [&](std::string_view invariant, std::string_view sql) {
    const auto rows = stage.number(sql);
    if (!rows) return c.fail(rows.error());
    c.invariant(invariant, *rows);
  };
  count("cross_tenant_rows", kForeignSeen);
  count("looks_incomplete",
        fmt::format("SELECT count(*) FROM seen WHERE rows <> {}", stage.shape().each));
  auto left = trouble.identities_left();
  if (!left) return c.fail(left.error());
  if (stage.connection().pooled) {
    const auto behind = stage.identities_behind_pooler(kConnections);
    if (!behind) return c.fail(behind.error());
    *left += *behind;
  }
  c.invariant("identity_left", *left);
  c.invariant("unexpected_errors", static_cast<std::int64_t>(trouble.counts().unexpected));
  c.invariant("impostors_accepted", static_cast<std::int64_t>(trouble.counts().impostors_accepted));
  c.counter("faults", static_cast<double>(kills + trouble.counts().provoked));
  if (size() == Size::kSmoke) return;  // Too short for a kill to be certain.
  if (kills == 0 || trouble.counts().provoked == 0 || trouble.counts().lost == 0) {
    c.fail("no job lost its connection, or none failed: nothing was tried");
  }
}

void run_leaks(Case& c, bool pooled) {
  const Shape shape{kTenants, 5, {}};
  auto stage = pooled ? make_pooled_stage("leak", shape) : make_stage("leak", shape);
  if (!stage) return c.fail(stage.error());
  if (const auto made = (*stage)->run(Trouble::ddl((*stage)->schema())); !made) {
    return c.fail(made.error());
  }
  auto killing = fixtures::Client::connect((*stage)->server().dsn);
  if (!killing) return c.fail(killing.error());
  load::SubjectThread thread;
  auto trouble = Trouble::make(**stage, kCallers, kConnections, thread);
  if (!trouble) return c.fail(trouble.error());
  load::Options options;
  options.concurrency = kCallers;
  options.fixed_operations = c.fixed_operations() > 0 ? c.fixed_operations() : jobs();
  options.seed = seed();
  options.server_pids = (*stage)->server_pids();
  std::optional<Killer> killer;
  killer.emplace(std::move(*killing), (*stage)->role());
  Trouble& jobs_of_all_kinds = **trouble;
  const auto report = load::run(
      options, thread.executor(),
      [&jobs_of_all_kinds](load::OpContext context) { return jobs_of_all_kinds.turn(context); });
  const std::uint64_t kills = killer->kills();
  killer.reset();
  if (!report) return c.fail(report.error());
  c.report(*report);
  judge(c, **stage, jobs_of_all_kinds, kills);
}

}  // namespace

void register_leak_cases() {
  declare_metric({"faults", "1", Better::kHigher, MetricClass::kInfo});
  const auto add = [](bool pooled) {
    load_case(fmt::format("{}/pool/leaks/callers:{}/conns:{}{}", kGroup, kCallers, kConnections,
                          pooled ? kPooledSuffix : ""),
              [pooled](Case& c) { run_leaks(c, pooled); }, {Resource::kDb, false});
  };
  add(false);
  if (size() != Size::kSmoke) add(true);
}

}  // namespace plimsoll::bench
