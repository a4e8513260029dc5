// A whole case of a crew; what its callers do is in crew.cpp.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "bench/rls_queue/audit.hpp"
#include "bench/rls_queue/cases.hpp"
#include "bench/rls_queue/crew.hpp"

namespace plimsoll::bench {
namespace {

/// The server's own count of the jobs' statement, where it keeps one: reads by its calls, writes by
/// the rows' versions.
std::function<Result<std::uint64_t>()> server_count(Stage& stage, const Duty& duty) {
  std::string sql;
  if (duty.act == Duty::Act::kWrite) {
    sql = kWritesDone;
  } else if (duty.act == Duty::Act::kRead) {
    const auto kept = stage.number(
        "SELECT count(*) FROM pg_catalog.pg_extension WHERE extname = 'pg_stat_statements'");
    if (!kept || *kept == 0) return {};
    sql = fmt::format(
        "SELECT coalesce(sum(calls), 0)::bigint FROM public.pg_stat_statements WHERE query = "
        "$q${}$q$",
        read_sql(stage.schema()));
  } else {
    return {};
  }
  return [&stage, sql]() -> Result<std::uint64_t> {
    const auto count = stage.number(sql);
    if (!count) return fail(count.error());
    return static_cast<std::uint64_t>(*count);
  };
}

/// What the tables say, against what the crew was told.
void check_tables(Case& c, Stage& stage, const Duty& duty, const Crew::Counts& counts, bool exact) {
  const auto count = [&](std::string_view invariant, std::string_view sql, std::uint64_t less = 0) {
    const auto value = stage.number(sql);
    if (!value) return c.fail(value.error());
    c.invariant(invariant, *value - static_cast<std::int64_t>(less));
  };
  count("cross_tenant_rows_seen", kForeignSeen);
  count("foreign_writes", kForeignWrites);
  if (duty.act == Duty::Act::kBurst) count("jobs_out_of_order", kOutOfOrder);
  if (!exact) return;  // Some were cut off, and nobody knows whether they were done.
  count("writes_unaccounted", kWritesDone, counts.written);
  count("logs_unaccounted", kLogged, counts.logged);
}

void check_crew(Case& c, Crew& crew, const load::Report& report) {
  const auto whole = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  c.invariant("cross_tenant_rows", whole(crew.counts().foreign_rows));
  c.invariant("wrong_answers", whole(crew.counts().wrong_answers));
  c.invariant("failed_operations", whole(report.ledger.failed + report.warmup.failed));
  c.invariant("exhaustion_errors", whole(report.ledger.busy + report.warmup.busy));
  const auto left = crew.identities_left();
  if (!left) return c.fail(left.error());
  c.invariant("identity_left", *left);
}

}  // namespace

load::Options crew_options(const Case& c, Stage& stage, const Duty& duty) {
  using std::chrono::milliseconds;
  load::Options options;
  options.concurrency = duty.callers;
  // Smoke only proves that it works, on any machine: a count of operations ends well where a short
  // window might see none.
  options.fixed_operations = c.fixed_operations() > 0 ? c.fixed_operations() : scaled(200U, 0U, 0U);
  options.warmup_floor = milliseconds{scaled(0, 150, 200)};
  options.warmup_cap = milliseconds{scaled(0, 400, 2000)};
  options.window = milliseconds{scaled(100, 400, 2000)};
  options.seed = seed();
  options.server_pids = stage.server_pids();
  options.server_count = server_count(stage, duty);
  return options;
}

std::optional<Crew::Counts> run_crew(Case& c, const Duty& duty, Shape shape) {
  const auto failed = [&c](const Error& error) {
    c.fail(error);
    return std::nullopt;
  };
  auto stage = duty.pooled ? make_pooled_stage("crew", shape) : make_stage("crew", shape);
  if (!stage) return failed(stage.error());
  load::SubjectThread thread;
  auto crew = Crew::hire(**stage, duty, thread);
  if (!crew) return failed(crew.error());
  Crew& callers = **crew;
  const load::Options options = crew_options(c, **stage, duty);
  const auto report = load::run(options, thread.executor(), [&callers](load::OpContext context) {
    return callers.turn(context);
  });
  if (!report) return failed(report.error());
  c.report(*report);
  check_crew(c, callers, *report);
  const auto counts = callers.counts();
  if (const auto looked = callers.look_around(); !looked) return failed(looked.error());
  check_tables(c, **stage, duty, counts, report->ledger.in_flight == 0);
  return c.failed() ? std::nullopt : std::optional(counts);
}

}  // namespace plimsoll::bench
