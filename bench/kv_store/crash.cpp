#include "bench/kv_store/crash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "fixtures/postgres/client.hpp"
#include "fixtures/postgres/local.hpp"
#include "lib/core/clock.hpp"
#include "lib/core/rng.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/kv_store/postgres_store.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kKeysOfACaller = 8;
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
  [[nodiscard]] CrashCounts counts() const;

 private:
  [[nodiscard]] asio::awaitable<void> call(std::size_t caller);
  [[nodiscard]] asio::awaitable<bool> write(std::size_t caller, std::int64_t number);
  [[nodiscard]] asio::awaitable<bool> add();
  [[nodiscard]] asio::awaitable<Result<void>> install();
  [[nodiscard]] asio::awaitable<Result<void>> close();
  [[nodiscard]] Result<void> kill_under_load();
  [[nodiscard]] Result<void> judge();
  [[nodiscard]] bool note(const Error& error);

  CrashOptions options_;
  Rng rng_;
  std::optional<fixtures::LocalPostgres> server_;
  std::unique_ptr<kv::PostgresStore> store_;
  std::vector<std::int64_t> numbers_;  ///< The last of each caller.
  WriteLedger ledger_;
  std::int64_t additions_ = 0;  ///< Acknowledged, of a cycle.
  std::int64_t unknown_additions_ = 0;
  std::int64_t counter_ = 0;  ///< As it was found after the last cycle.
  CrashCounts counts_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> acknowledged_{0};
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
  numbers_.assign(options_.callers, 0);
  if (auto installed = thread_.call(install()); !installed) return installed;
  // The table itself must be there after the first kill, whatever the server promises of the rest.
  if (auto written = sql->query("CHECKPOINT"); !written) return fail(written.error());
  return {};
}

asio::awaitable<Result<void>> Crash::install() {
  Result<void> installed = co_await store_->install();
  if (!installed) co_return installed;
  kv::Write write("counter", "0");
  Result<kv::Version> version = co_await store_->set("sum", std::move(write));
  if (!version) co_return fail(std::move(version.error()));
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Crash::close() {
  store_.reset();
  co_return Result<void>{};
}

bool Crash::note(const Error& error) {
  counts_.kinds.emplace(name(error.code));
  return false;
}

asio::awaitable<void> Crash::call(std::size_t caller) {
  asio::steady_timer pause(thread_.executor());
  while (!stop_) {
    const std::int64_t number = ++numbers_[caller];
    bool done = false;
    if (number % 8 == 7) {
      done = co_await add();
    } else {
      done = co_await write(caller, number);
    }
    if (done) continue;
    pause.expires_after(2ms);
    [[maybe_unused]] const auto waited = co_await pause.async_wait(kAsValue);
  }
}

asio::awaitable<bool> Crash::write(std::size_t caller, std::int64_t number) {
  const std::string key = fmt::format("{}.{}", caller, number % kKeysOfACaller);
  const WriteLedger::Write entry{number % 11 == 0, number};
  std::optional<Error> error;
  if (entry.is_erase) {
    Result<bool> erased = co_await store_->erase("acme", key);
    if (!erased) error = erased.error();
  } else {
    kv::Write what(key, std::to_string(number));
    Result<kv::Version> version = co_await store_->set("acme", std::move(what));
    if (!version) error = version.error();
  }
  if (!error) {
    ledger_.acknowledge(key, entry);
    ++acknowledged_;
    co_return true;
  }
  if (!error->unsent) ledger_.leave_unknown(key, entry);
  co_return note(*error);
}

asio::awaitable<bool> Crash::add() {
  Result<std::optional<kv::Entry>> entry = co_await store_->get("sum", "counter");
  if (!entry) co_return note(entry.error());
  if (!*entry) {
    // A server that forgets may forget even this.
    Error gone{Errc::kNotFound, "the counter is gone", {}};
    co_return note(gone);
  }
  kv::Write write("counter", std::to_string(std::stoll((*entry)->value) + 1));
  Result<kv::Version> version =
      co_await store_->compare_and_set("sum", std::move(write), (*entry)->version);
  if (version) {
    ++additions_;
    co_return true;
  }
  if (version.error().code == Errc::kConflict && version.error().sqlstate.empty()) co_return true;
  if (!version.error().unsent) ++unknown_additions_;
  co_return note(version.error());
}

Result<void> Crash::kill_under_load() {
  const std::uint64_t goal = acknowledged_ + kAcknowledgedBeforeAKill;
  const TimePoint give_up = Clock::now() + 60s;
  while (acknowledged_ < goal) {
    if (Clock::now() > give_up) return fail(Errc::kTimeout, "no write was acknowledged for 60 s");
    std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(std::chrono::microseconds(rng_.below(80'000)));
  return server_->kill9();
}

Result<void> Crash::cycle() {
  stop_ = false;
  std::vector<std::future<void>> callers;
  for (std::size_t caller = 0; caller < options_.callers; ++caller) {
    callers.push_back(asio::co_spawn(thread_.executor(), call(caller), asio::use_future));
  }
  const auto killed = kill_under_load();
  stop_ = true;
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
  const auto verdict = ledger_.judge(found);
  counts_.lost += verdict.lost;
  counts_.invented += verdict.invented;
  const std::int64_t added = counter - counter_;
  counts_.lost_updates += std::max<std::int64_t>(0, additions_ - added);
  counts_.extra_updates += std::max<std::int64_t>(0, added - additions_ - unknown_additions_);
  counter_ = counter;
  additions_ = unknown_additions_ = 0;
  ++counts_.cycles;
  return {};
}

CrashCounts Crash::counts() const {
  CrashCounts counts = counts_;
  counts.acknowledged = ledger_.acknowledged();
  counts.unknown = ledger_.unknown();
  return counts;
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
