#include "bench/harness/wal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "fixtures/postgres/client.hpp"
#include "fixtures/postgres/wal_pass.hpp"
#include "lib/core/clock.hpp"

namespace plimsoll::bench {
namespace {

using fixtures::Client;
using fixtures::Rows;

constexpr int kAttempts = 3;
constexpr std::chrono::seconds kSettleLimit{10};
constexpr std::chrono::milliseconds kSettlePoll{20};

// The work itself. XLOG, Standby and LogicalMessage records come by the clock or from us.
constexpr const char* kRead = R"(
SELECT coalesce(sum(record_length - fpi_length) FILTER (WHERE record_type NOT LIKE 'PRUNE%'), 0)::bigint,
       coalesce(sum(record_length - fpi_length) FILTER (WHERE record_type LIKE 'PRUNE%'), 0)::bigint,
       count(*) FILTER (WHERE resource_manager = 'Transaction' AND record_type = 'COMMIT')
FROM public.pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn)
WHERE resource_manager IN ('Heap', 'Heap2', 'Btree', 'Transaction', 'Sequence'))";

constexpr const char* kFlush = "SELECT pg_logical_emit_message(true, 'plimsoll', 'wal pass')";

constexpr const char* kOthers =
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> "
    "pg_backend_pid()";

struct Counts {
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> fsyncs{};
  std::uint64_t checkpoints = 0;
};

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The first field of the first row.
Result<std::string> scalar(Client& client, const std::string& sql,
                           const std::vector<std::string>& parameters = {}) {
  auto rows = client.query(sql, parameters);
  if (!rows) return fail(std::move(rows.error()));
  if (rows->empty() || rows->front().empty()) return fail(Errc::kProtocol, "no row from: " + sql);
  return rows->front().front();
}

/// Waits until the query counts at most `most`.
Result<void> wait_for_at_most(Client& client, const std::string& counting, std::uint64_t most,
                              const std::string& what) {
  const auto deadline = Clock::now() + kSettleLimit;
  for (;;) {
    const auto count = scalar(client, counting);
    if (!count) return fail(count.error());
    if (number(*count) <= most) return {};
    if (Clock::now() > deadline) return fail(Errc::kTimeout, fmt::format("{} did not end", what));
    std::this_thread::sleep_for(kSettlePoll);
  }
}

/// One pass' hold on the server: the lock, a quiet configuration, and both given back.
class Pass {
 public:
  static Result<std::unique_ptr<Pass>> begin(const fixtures::Postgres& server,
                                             std::chrono::milliseconds patience);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  ~Pass() {
    if (!is_held_) return;  // Another pass needs it so.
    // Also where a killed pass had left it so. The lock ends with the connection.
    for (const std::string& sql : fixtures::wal_pass_end()) (void)client_.query(sql);
  }

  Result<WalCost> measure(const WalPass& pass);

 private:
  explicit Pass(Client client) : client_(std::move(client)) {}
  Result<void> prepare();
  Result<std::optional<WalCost>> attempt(const WalPass& pass);
  Result<std::string> begin_of_log();
  Result<std::string> end_of_log();
  Result<Counts> counts();
  bool only(const std::string& backends);
  Result<WalCost> cost_of(const std::string& begin, const std::string& end, const Counts& before,
                          const Counts& after);

  Client client_;
  bool is_held_ = false;
  bool can_inspect_ = false;
  std::string inspect_error_;
};

Result<std::unique_ptr<Pass>> Pass::begin(const fixtures::Postgres& server,
                                          std::chrono::milliseconds patience) {
  auto client = Client::connect(server.dsn);
  if (!client) return fail(client.error());
  std::unique_ptr<Pass> pass(new Pass(std::move(*client)));
  const auto limited =
      pass->client_.query(fmt::format("SET lock_timeout = {}", std::max(patience.count(), 1L)));
  if (!limited) return fail(limited.error());
  // Held while a pass runs, so that no other pass writes beside it or takes its settings back.
  const auto locked = pass->client_.query(fixtures::kWalPassLock);
  if (!locked && locked.error().code == Errc::kTimeout) {
    return fail(Errc::kTimeout,
                fmt::format("another WAL pass has held {} for {} s; it holds the advisory lock "
                            "'plimsoll wal pass'",
                            server.display, std::chrono::duration<double>(patience).count()));
  }
  if (!locked) return fail(locked.error());
  pass->is_held_ = true;
  if (const auto ready = pass->prepare(); !ready) return fail(ready.error());
  return pass;
}

Result<void> Pass::prepare() {
  const auto extension =
      client_.query("CREATE EXTENSION IF NOT EXISTS pg_walinspect SCHEMA public");
  can_inspect_ = extension.has_value();
  if (!can_inspect_) inspect_error_ = extension.error().message;
  std::vector<std::string> begin = fixtures::wal_pass_begin();
  begin.emplace_back("SET synchronous_commit = on");
  for (const std::string& sql : begin) {
    if (const auto done = client_.query(sql); !done) return fail(done.error());
  }
  return wait_for_at_most(
      client_, "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum worker%'",
      0, "an autovacuum worker");
}

/// Where the log ends now, all before it being flushed. The flush is by a commit of our own: after
/// the returned place when the pass ends, before it when it begins.
Result<std::string> Pass::begin_of_log() {
  const auto flushed = client_.query(kFlush);
  if (!flushed) return fail(flushed.error());
  return scalar(client_, "SELECT pg_current_wal_insert_lsn()");
}

Result<std::string> Pass::end_of_log() {
  auto end = scalar(client_, "SELECT pg_current_wal_insert_lsn()");
  const auto flushed = client_.query(kFlush);
  if (!flushed) return fail(flushed.error());
  return end;
}

Result<Counts> Pass::counts() {
  (void)client_.query("SELECT pg_stat_force_next_flush()");
  Counts counts;
  const auto rows = client_.query(
      "SELECT wal_bytes, (SELECT checkpoint_lsn - '0/0'::pg_lsn FROM pg_control_checkpoint()) FROM "
      "pg_stat_wal");
  if (!rows) return fail(rows.error());
  if (rows->empty()) return fail(Errc::kProtocol, "pg_stat_wal has no row");
  counts.bytes = number(rows->front().at(0));
  counts.checkpoints = number(rows->front().at(1));
  if (const auto syncs = scalar(client_, "SELECT wal_sync FROM pg_stat_wal"))
    counts.fsyncs = number(*syncs);
  return counts;
}

/// Waits until no more client sessions are there than these.
bool Pass::only(const std::string& backends) {
  return wait_for_at_most(client_, kOthers, number(backends), "a session").has_value();
}

Result<WalCost> Pass::cost_of(const std::string& begin, const std::string& end,
                              const Counts& before, const Counts& after) {
  WalCost cost;
  cost.bytes = after.bytes - before.bytes;
  if (before.fsyncs && after.fsyncs) {
    cost.fsyncs = *after.fsyncs - *before.fsyncs;
  } else {
    cost.issues.push_back("this server's pg_stat_wal does not count fsyncs");
  }
  if (!can_inspect_) {
    cost.issues.push_back(
        "WAL bytes are from the statistics, less exact, and commits absent: no pg_walinspect (" +
        inspect_error_ + ")");
    return cost;
  }
  if (begin == end) {  // pg_walinspect refuses an empty stretch.
    cost.bytes = 0;
    cost.prune_bytes = 0;
    cost.commits = 0;
    return cost;
  }
  const auto records = client_.query(kRead, {begin, end});
  if (!records) return fail(records.error());
  if (records->empty()) return fail(Errc::kProtocol, "pg_walinspect returned no row");
  cost.bytes = number(records->front().at(0));
  cost.prune_bytes = number(records->front().at(1));
  cost.commits = number(records->front().at(2));
  return cost;
}

/// nullopt when a checkpoint came in between: it makes the next change of each page carry an image
/// and more.
Result<std::optional<WalCost>> Pass::attempt(const WalPass& pass) {
  // Before the load, whose connection may linger and would be taken for one that was there.
  const auto backends = scalar(client_, kOthers);
  if (!backends) return fail(backends.error());
  if (const auto done = client_.query("CHECKPOINT"); !done) return fail(done.error());
  const auto fresh = counts();
  if (!fresh) return fail(fresh.error());
  if (const auto loaded = pass.load(); !loaded) return fail(loaded.error());
  bool alone = only(*backends);
  const auto begin = begin_of_log();
  if (!begin) return fail(begin.error());
  const auto before = counts();
  if (!before) return fail(before.error());

  const auto operations = pass.run();
  if (!operations) return fail(operations.error());
  if (*operations == 0) return fail(Errc::kInvalidArgument, "the WAL pass did no operation");

  // A backend hands in its counts as it ends, which is a little after its client has gone.
  alone = only(*backends) && alone;
  const auto after = counts();
  const auto end = end_of_log();
  if (!after) return fail(after.error());
  if (!end) return fail(end.error());
  if (after->checkpoints != fresh->checkpoints) return std::optional<WalCost>();
  auto cost = cost_of(*begin, *end, *before, *after);
  if (!cost) return fail(cost.error());
  cost->operations = *operations;
  if (!alone)
    cost->issues.push_back(
        "other sessions were there during the pass; its figures may hold their work");
  return std::optional<WalCost>(std::move(*cost));
}

/// A commit flushes the log at most once. What is beyond that somebody else did, or did before and
/// handed in to the statistics only now: an idle session may keep its counts for ten seconds.
bool has_foreign_fsyncs(const WalCost& cost) {
  return cost.fsyncs && cost.commits && *cost.fsyncs > *cost.commits;
}

/// Foreign work only adds, so of several attempts the one with the fewest fsyncs is nearest.
Result<WalCost> Pass::measure(const WalPass& pass) {
  std::optional<WalCost> best;
  for (int i = 0; i < kAttempts; ++i) {
    auto cost = attempt(pass);
    if (!cost) return fail(cost.error());
    if (!cost->has_value()) continue;
    if (!best || (*cost)->fsyncs < best->fsyncs) best = std::move(*cost);
    if (!has_foreign_fsyncs(*best)) break;
  }
  if (best) return std::move(*best);
  return fail(Errc::kBusy, fmt::format("a checkpoint came into each of {} passes", kAttempts));
}

}  // namespace

Result<WalCost> measure_wal(const fixtures::Postgres& server, const WalPass& pass) {
  if (!server.may_disturb) {
    return fail(Errc::kRefused, fmt::format("the WAL pass runs CHECKPOINT and ALTER SYSTEM, so "
                                            "only on a server that we started; {} "
                                            "is not",
                                            server.display));
  }
  auto held = Pass::begin(server, pass.patience);
  if (!held) return fail(held.error());
  return (*held)->measure(pass);
}

void count_wal(Case& running, const fixtures::Postgres& server, const WalPass& pass) {
  const auto cost = measure_wal(server, pass);
  if (!cost && cost.error().code == Errc::kRefused)
    return running.not_applicable(cost.error().message);
  // Among other tests somebody always checkpoints; smoke only has to show that the pass works.
  if (!cost && cost.error().code == Errc::kBusy && size() == Size::kSmoke)
    return running.not_applicable(cost.error().message);
  if (!cost) return running.fail(cost.error());
  const auto per_op = [&](std::uint64_t total) {
    return static_cast<double>(total) / static_cast<double>(cost->operations);
  };
  running.counter("wal_bytes_per_op", per_op(cost->bytes));
  if (cost->commits) running.counter("commits_per_op", per_op(*cost->commits));
  if (cost->prune_bytes) running.counter("wal_prune_bytes_per_op", per_op(*cost->prune_bytes));
  if (cost->fsyncs) running.counter("fsyncs_per_op", per_op(*cost->fsyncs));
  for (const std::string& issue : cost->issues) running.issue(issue);
}

}  // namespace plimsoll::bench
