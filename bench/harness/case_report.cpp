#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/harness/load_json.hpp"
#include "bench/harness/record.hpp"
#include "lib/load/runner.hpp"

namespace plimsoll::bench {
namespace {

double micros(Nanoseconds time) { return std::chrono::duration<double, std::micro>(time).count(); }

constexpr std::pair<const char*, double> kQuantiles[] = {
    {"p50", 0.50}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}};

/// "40001 x 3, exception x 1"
std::string failures(const load::Ledger& ledger) {
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : ledger.failed_by)
    kinds.push_back(fmt::format("{} x {}", kind, count));
  return fmt::format("{}", fmt::join(kinds, ", "));
}

}  // namespace

void Case::latencies(std::string_view clock, const load::Histogram& histogram) {
  if (histogram.empty()) return;
  std::vector<std::string> missing;
  for (const auto& [label, q] : kQuantiles) {
    if (const auto value = histogram.quantile(q)) {
      counter(fmt::format("{}_us_{}", clock, label), micros(*value));
    } else {
      missing.push_back(label);
    }
  }
  counter(fmt::format("{}_us_mean", clock), histogram.mean() / 1000);
  counter(fmt::format("{}_us_max", clock), micros(histogram.max()));
  // That p99.9 is absent is the rule; it is worth a word only where the others miss too.
  if (missing.size() > 1) {
    issue(fmt::format("{}: n too small for {} ({} samples)", clock, fmt::join(missing, ", "),
                      histogram.count()));
  }
}

void Case::resources(const load::Report& report) {
  const auto operations = static_cast<double>(report.completed);
  counter("cpu_us_per_op", report.own.cpu_seconds * 1e6 / operations);
  if (report.own.rss.samples > 0) counter("rss_bytes_max", report.own.rss.max);
  if (report.own.rss.slope) counter("rss_bytes_per_second", report.own.rss.slope->value);
  if (report.servers.empty()) return;
  double cpu_seconds = 0;
  double pss = 0;
  for (const load::Resources& server : report.servers) {
    cpu_seconds += server.cpu_seconds;
    pss += server.pss.max;
  }
  counter("server_cpu_us_per_op", cpu_seconds * 1e6 / operations);
  if (pss > 0) counter("server_pss_bytes_max", pss);
}

void Case::report(const load::Report& report) {
  if (record_.kind != Kind::kLoad) return fail("report() belongs into a load case");
  if (record_.reported) return fail("report() was called twice");
  record_.reported = true;
  take_validity(report.validity, record_);
  record_.ledger = to_json(report.ledger);
  record_.histograms = {{"service", to_json(report.service)},
                        {"response", to_json(report.response)},
                        {"lag", to_json(report.lag)}};
  Json servers = Json::array();
  for (const load::Resources& server : report.servers) servers.push_back(to_json(server));
  record_.resources = {{"own", to_json(report.own)}, {"servers", std::move(servers)}};
  record_.run = run_json(report);
  state_.SetLabel(std::string(load::name(report.mode)));
  // Neither leaves a figure that could be trusted; what was seen until then stays in the row.
  for (std::size_t i = 0; i < report.validity.found.size(); ++i) {
    const load::Verdict found = report.validity.found[i];
    if (found == load::Verdict::kServerCrashed || found == load::Verdict::kUnbalanced) {
      return fail(fmt::format("{}: {}", load::name(found), report.validity.reasons[i]));
    }
  }
  if (report.completed == 0 || report.window <= Nanoseconds::zero()) {
    return fail(
        fmt::format("no operation ended well in the window of {:.3f} s{}{}",
                    std::chrono::duration<double>(report.window).count(),
                    report.ledger.failed_by.empty() ? "" : "; failed: ", failures(report.ledger)));
  }
  if (report.ledger.failed > 0) {
    issue(fmt::format("{} operations failed: {}", report.ledger.failed, failures(report.ledger)));
  }
  const double seconds = std::chrono::duration<double>(report.window).count();
  const auto operations = static_cast<double>(report.completed);
  state_.SetIterationTime(seconds / operations);
  record_.operations = static_cast<std::int64_t>(report.completed);
  record_.cpu_ns_per_op = report.own.cpu_seconds * 1e9 / operations;
  counter("operations_per_second", report.operations_per_second());
  if (report.items != report.completed) counter("items_per_second", report.items_per_second());
  latencies("latency", report.service);
  if (report.mode != load::Mode::kClosed) {
    latencies("response", report.response);
    latencies("lag", report.lag);
  }
  counter("in_flight_mean", report.mean_in_flight);
  counter("harness_ns_per_op", static_cast<double>(report.null_service.count()));
  counter("harness_share", report.harness_share);
  resources(report);
}

}  // namespace plimsoll::bench
