#include "bench/kv_store/crash.hpp"

#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "bench/kv_store/crash_callers.hpp"
#include "fixtures/postgres/client.hpp"
#include "fixtures/postgres/local.hpp"
#include "lib/core/clock.hpp"
#include "lib/core/rng.hpp"
#include "lib/kv_store/postgres_store.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kAcknowledgedBeforeAKill = 50;

/// One server, one store, and callers that come anew in each cycle.
class Crash {
 public:
  explicit Crash(const CrashOptions& options) : options_(options), rng_(options.seed) {}
  ~Crash() { (void)thread_.call(close()); }
  Crash(const Crash&) = delete;
  Crash& operator=(const Crash&) = delete;

  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> cycle();
  [[nodiscard]] const CrashCounts& counts() const noexcept { return counts_; }

 private:
  [[nodiscard]] asio::awaitable<Result<void>> install();
  [[nodiscard]] asio::awaitable<Result<void>> close();
  [[nodiscard]] Result<void> kill_under_load();
  [[nodiscard]] Result<void> judge();

  CrashOptions options_;
  Rng rng_;
  std::optional<fixtures::LocalPostgres> server_;
  std::unique_ptr<kv::PostgresStore> store_;
  std::optional<CrashCallers> callers_;
  CrashCounts counts_;
  load::SubjectThread thread_;  ///< Last: it ends before what its coroutines refer to.
};

Result<void> Crash::begin() {
  fixtures::LocalPostgres::Options options;
  if (!options_.is_durable) {
    options.settings = {{"synchronous_commit", "off"}, {"wal_writer_delay", "10s"}};
  }
  auto server = fixtures::LocalPostgres::start(options);
  if (!server) return fail(server.error());
  server_.emplace(std::move(*server));
  auto sql = fixtures::Client::connect(server_->dsn());
  if (!sql) return fail(sql.error());
  if (auto made = sql->query("CREATE SCHEMA kv"); !made) return fail(made.error());
  kv::PostgresConfig config;
  config.connection = pg::Config(server_->dsn());
  config.schema = "kv";
  config.allow_weak_durability = !options_.is_durable;
  auto store = kv::PostgresStore::make(thread_.executor(), std::move(config));
  if (!store) return fail(store.error());
  store_ = std::move(*store);
  callers_.emplace(*store_, options_.callers);
  if (auto installed = thread_.call(install()); !installed) return installed;
  // The table itself must be there after the first kill, whatever the server promises of the rest.
  if (auto written = sql->query("CHECKPOINT"); !written) return fail(written.error());
  return {};
}

asio::awaitable<Result<void>> Crash::install() {
  Result<void> installed = co_await store_->install();
  if (!installed) co_return installed;
  Result<void> begun = co_await callers_->begin();
  co_return begun;
}

asio::awaitable<Result<void>> Crash::close() {
  store_.reset();
  co_return Result<void>{};
}

Result<void> Crash::kill_under_load() {
  const std::uint64_t goal = callers_->acknowledged() + kAcknowledgedBeforeAKill;
  const TimePoint give_up = Clock::now() + 60s;
  while (callers_->acknowledged() < goal) {
    if (Clock::now() > give_up) return fail(Errc::kTimeout, "no write was acknowledged for 60 s");
    std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(std::chrono::microseconds(rng_.below(80'000)));
  return server_->kill9();
}

Result<void> Crash::cycle() {
  callers_->stop(false);
  std::vector<std::future<void>> callers;
  for (std::size_t caller = 0; caller < callers_->count(); ++caller) {
    callers.push_back(asio::co_spawn(thread_.executor(), callers_->call(caller), asio::use_future));
  }
  const auto killed = kill_under_load();
  callers_->stop(true);
  for (auto& caller : callers) caller.get();
  if (!killed) return killed;
  if (auto restarted = server_->restart(); !restarted) return restarted;
  return judge();
}

Result<void> Crash::judge() {
  auto sql = fixtures::Client::connect(server_->dsn());
  if (!sql) return fail(sql.error());
  const auto rows = sql->query("SELECT tenant, key, value FROM kv.entries");
  if (!rows) return fail(rows.error());
  std::map<std::string, std::int64_t> found;
  std::int64_t counter = 0;
  for (const auto& row : *rows) {
    if (row[0] == "sum") {
      counter = std::stoll(row[2]);
    } else {
      found.emplace(row[1], std::stoll(row[2]));
    }
  }
  callers_->judge(found, counter, counts_);
  return {};
}

}  // namespace

Result<CrashCounts> crash_cycles(const CrashOptions& options) {
  Crash crash(options);
  if (auto begun = crash.begin(); !begun) return fail(begun.error());
  for (int cycle = 0; cycle < options.cycles; ++cycle) {
    if (auto done = crash.cycle(); !done) return fail(done.error());
  }
  return crash.counts();
}

}  // namespace plimsoll::bench
