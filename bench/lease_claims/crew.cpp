#include "bench/lease_claims/crew.hpp"

#include <fmt/format.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "bench/lease_claims/audit.hpp"
#include "lib/core/with_timeout.hpp"

namespace plimsoll::bench {
namespace {

/// How long a worker whose connection is gone waits before it fails its next operation.
constexpr std::chrono::milliseconds kPause{10};

/// The server's own count of claims: by the tokens, which grow by one with each row claimed; for
/// batches by the calls of the statement, where the server keeps them.
std::function<Result<std::uint64_t>()> server_count(Stage& stage, const Duty& duty) {
  std::string sql(kClaimsDone);
  if (duty.batch > 1) {
    const auto kept = stage.number(
        "SELECT count(*) FROM pg_catalog.pg_extension WHERE extname = 'pg_stat_statements'");
    if (!kept || *kept == 0) return {};
    sql = fmt::format(
        "SELECT coalesce(sum(calls), 0)::bigint FROM public.pg_stat_statements WHERE query LIKE "
        "'%{}%' AND query LIKE '%LIMIT $4%'",
        stage.schema());
  }
  return [&stage, sql]() -> Result<std::uint64_t> {
    const auto count = stage.number(sql);
    if (!count) return fail(count.error());
    return static_cast<std::uint64_t>(*count);
  };
}

}  // namespace

Crew::Crew(const Stage& stage, const Duty& duty, load::SubjectThread& thread,
           lease::Claimer claimer)
    : stage_(stage), duty_(duty), thread_(thread), claimer_(std::move(claimer)) {
  const Rng draw(seed());
  for (std::size_t worker = 0; worker < duty.workers; ++worker) draws_.push_back(draw.fork(worker));
}

Result<std::unique_ptr<Crew>> Crew::hire(const Stage& stage, const Duty& duty,
                                         load::SubjectThread& thread) {
  auto claimer = lease::Claimer::make(duty.subject, stage.schema());
  if (!claimer) return fail(claimer.error());
  std::unique_ptr<Crew> crew(new Crew(stage, duty, thread, std::move(*claimer)));
  if (auto connected = thread.call(crew->connect()); !connected) return fail(connected.error());
  return crew;
}

Crew::~Crew() { dismiss(); }

void Crew::dismiss() { (void)thread_.call(disconnect()); }

asio::awaitable<Result<void>> Crew::connect() {
  for (std::size_t worker = 0; worker < duty_.workers; ++worker) {
    pg::Config config;
    config.dsn = stage_.dsn();
    Result<std::unique_ptr<pg::Connection>> connection =
        co_await pg::Connection::connect(std::move(config));
    if (!connection) co_return fail(connection.error());
    connections_.push_back(std::move(*connection));
    backends_.push_back(connections_.back()->backend_pid());
  }
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Crew::disconnect() {
  connections_.clear();
  co_return Result<void>{};
}

asio::awaitable<load::Outcome> Crew::turn(load::OpContext context) {
  const std::size_t worker = context.caller % duty_.workers;
  pg::Connection& connection = *connections_[worker];
  lease::ClaimRequest request{stage_.tenant(draws_[worker]()), "bench", duty_.ttl, duty_.batch};
  Result<std::vector<lease::Lease>> leases =
      co_await claimer_.claim(connection, std::move(request));
  if (!leases) {
    if (!connection.is_open()) {
      asio::steady_timer pause(connection.executor(), kPause);
      co_await pause.async_wait(kAsValue);
    }
    co_return load::outcome_of(leases.error(), false);
  }
  if (leases->empty()) {
    ++dry_;
    co_return load::Outcome{load::Outcome::Kind::kBusy, 0, "nothing due"};
  }
  claimed_ += leases->size();
  if (leases->size() > duty_.batch) beyond_limit_ += leases->size() - duty_.batch;
  if (!duty_.fire) co_return load::Outcome{load::Outcome::Kind::kOk, leases->size(), {}};
  Result<std::uint64_t> recorded = co_await fire(connection, std::move(*leases));
  if (!recorded) co_return load::outcome_of(recorded.error(), true);
  fired_ += *recorded;
  ended_.push_back(Clock::now());
  co_return load::Outcome{load::Outcome::Kind::kOk, *recorded, {}};
}

asio::awaitable<Result<std::uint64_t>> Crew::fire(pg::Connection& connection,
                                                  std::vector<lease::Lease> leases) {
  if (duty_.batch > 1) {
    Result<lease::FiredBatch> batch = co_await claimer_.fire_all(connection, std::move(leases));
    if (!batch) co_return fail(batch.error());
    co_return batch->recorded.size();
  }
  Result<lease::Fired> fired = co_await claimer_.fire(connection, std::move(leases.front()));
  if (!fired) co_return fail(fired.error());
  co_return fired->recorded ? std::uint64_t{1} : std::uint64_t{0};
}

load::Options crew_options(const Case& c, Stage& stage, const Duty& duty) {
  using std::chrono::milliseconds;
  load::Options options;
  options.concurrency = duty.workers;
  // Smoke only proves that it works, on any machine: a count of operations ends well where a short
  // window might see none.
  options.fixed_operations = c.fixed_operations() > 0 ? c.fixed_operations() : scaled(100U, 0U, 0U);
  options.warmup_floor = milliseconds{scaled(0, 150, 200)};
  options.warmup_cap = milliseconds{scaled(0, 400, 2000)};
  options.window = milliseconds{scaled(100, 400, 2000)};
  options.seed = seed();
  if (stage.server().postmaster_pid > 0) options.server_pids = {stage.server().postmaster_pid};
  options.server_count = server_count(stage, duty);
  return options;
}

void check_invariants(Case& c, Stage& stage, const Crew& crew, bool exact) {
  const auto count = [&](const Count& each, std::uint64_t less = 0) {
    const auto value = stage.number(std::string(each.sql));
    if (!value) return c.fail(value.error());
    c.invariant(each.invariant, *value - static_cast<std::int64_t>(less));
  };
  if (exact) {
    count({"claims_unaccounted", kClaimsDone}, crew.claimed());
    count({"fires_unaccounted", kFiresDone}, crew.fired());
  }
  for (const Count& each : table_counts()) count(each);
  c.invariant("rows_beyond_limit", static_cast<std::int64_t>(crew.beyond_limit()));
}

void check_undisturbed(Case& c, const Crew& crew, const load::Report& report) {
  c.invariant("failed_operations",
              static_cast<std::int64_t>(report.ledger.failed + report.warmup.failed));
  const std::uint64_t turns = report.ledger.finished() + report.warmup.finished();
  if (crew.dry() * 20 > turns) {
    c.fail(fmt::format("ran dry: {} of {} operations found nothing due; the case needs more rows",
                       crew.dry(), turns));
  }
}

}  // namespace plimsoll::bench
