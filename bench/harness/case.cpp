#include "bench/harness/case.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "bench/harness/benchmark_compat.hpp"
#include "bench/harness/metrics.hpp"
#include "bench/harness/record.hpp"
#include "bench/harness/registry.hpp"
#include "lib/core/nearest.hpp"

namespace plimsoll::bench {

Size size() { return settings().size; }

std::uint64_t seed() { return settings().seed; }

std::string_view name(Resource resource) noexcept {
  constexpr std::array<std::string_view, 3> kNames{"cpu", "io", "db"};
  return kNames[static_cast<std::size_t>(resource)];
}

Case::Case(const std::string& name, benchmark::State& state, Record& record)
    : name_(name), state_(state), record_(record) {}

void Case::counter(std::string_view metric, double value) {
  const std::string key(metric);
  if (metrics().find(metric) == nullptr) {
    const auto near = nearest(metric, metrics().names());
    return fail(fmt::format(
        "counter '{}' is not in the metrics table (nearest: '{}'); declare_metric() adds it",
        metric, near.value_or("")));
  }
  if (!std::isfinite(value))
    return fail(fmt::format("counter '{}' is {}, which is no number", metric, value));
  state_.counters[key] = benchmark::Counter(value);
  if (record_.kind == Kind::kWork) record_.reported = true;
}

void Case::allocations(const AllocationScope& scope, std::uint64_t operations) {
  const AllocationCounts counts = scope.so_far();
  if (!allocations_are_counted()) {
    return issue(
        "allocations are not counted in this build (sanitizers bring their own allocator)");
  }
  if (operations == 0) return fail("allocations per operation of no operation at all");
  counter("allocations_per_op",
          static_cast<double>(counts.calls) / static_cast<double>(operations));
}

void Case::invariant(std::string_view invariant_name, std::int64_t value, std::int64_t expected) {
  record_.invariants[std::string(invariant_name)] = {{"value", value}, {"expected", expected}};
  if (record_.kind == Kind::kWork) record_.reported = true;
  if (value != expected) {
    fail(fmt::format("invariant {} is {}, expected {}", invariant_name, value, expected));
  }
}

void Case::not_applicable(std::string reason) {
  record_.reported = true;
  issue(std::move(reason));
}

void Case::issue(std::string text) { record_.issues.push_back(std::move(text)); }

void Case::fail(std::string_view reason) { state_.SkipWithError(std::string(reason).c_str()); }

void Case::fail(const Error& error) {
  fail(error.sqlstate.empty() ? fmt::format("{}: {}", plimsoll::name(error.code), error.message)
                              : fmt::format("{}: {} (SQLSTATE {})", plimsoll::name(error.code),
                                            error.message, error.sqlstate));
}

bool Case::failed() const { return compat::has_error(state_); }

std::uint64_t Case::fixed_operations() const { return settings().operations; }

void cpu_case(std::string name, Body body, CaseOptions options) {
  Registry::instance().add({std::move(name), std::move(body), options, Kind::kLoop});
}

void load_case(std::string name, Body body, CaseOptions options) {
  Registry::instance().add({std::move(name), std::move(body), options, Kind::kLoad});
}

void work_case(std::string name, Body body, Resource resource) {
  Registry::instance().add({std::move(name), std::move(body), {resource, false}, Kind::kWork});
}

void take_validity(const load::Validity& validity, Record& record) {
  record.verdict = load::name(validity.verdict);
  record.reasons = validity.reasons;
}

void add_crash(std::string reason, Record& record) {
  const std::string_view crashed = load::name(load::Verdict::kServerCrashed);
  if (record.verdict == crashed) return;  // The load runner saw it, too.
  record.verdict = crashed;
  record.reasons.insert(record.reasons.begin(), std::move(reason));
}

Json to_json(const Record& record) {
  Json row{{"resource", name(record.resource)},
           {"gate", record.gate},
           {"validity", {{"verdict", record.verdict}, {"reasons", record.reasons}}},
           {"invariants", record.invariants}};
  if (!record.ledger.is_null()) row["ledger"] = record.ledger;
  if (!record.histograms.is_null()) row["histograms"] = record.histograms;
  if (!record.resources.is_null()) row["resources"] = record.resources;
  if (!record.run.is_null()) row["run"] = record.run;
  row["issues"] = record.issues;
  return row;
}

}  // namespace plimsoll::bench
