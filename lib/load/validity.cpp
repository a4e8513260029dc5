#include "lib/load/validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/core/units.hpp"

namespace plimsoll::load {
namespace {

void judge_books(const Facts& facts, const Limits& limits, Validity& validity) {
  const auto unbalanced = [&](std::string reason) {
    validity.add(Verdict::kUnbalanced, std::move(reason));
  };
  if (facts.imbalance) unbalanced("the ledger does not balance: " + *facts.imbalance);
  if (facts.finished != facts.recorded) {
    unbalanced(fmt::format("{} operations ended, but the histogram of service times holds {}",
                           facts.finished, facts.recorded));
  }
  if (facts.finished == 0) unbalanced("no operation ended in the window");
  if (facts.unfinished > 0) {
    unbalanced(
        fmt::format("{} operations had not ended when the drain limit was reached; their "
                    "latency is missing",
                    facts.unfinished));
  }
  const double gap = std::abs(facts.mean_in_flight - facts.little_in_flight);
  if (gap > limits.little_tolerance * std::max(facts.mean_in_flight, facts.little_in_flight)) {
    unbalanced(
        fmt::format("Little's law: {:.3f} were in flight on average, but throughput times "
                    "mean service is {:.3f}",
                    facts.mean_in_flight, facts.little_in_flight));
  }
  if (facts.server_count_error) {
    unbalanced("the server's own count could not be read: " + *facts.server_count_error);
  }
  if (!facts.server_count) return;
  const auto& [counted, least, most] = *facts.server_count;
  if (counted < least || counted > most) {
    unbalanced(fmt::format("the server counted {} operations, the ledger {}", counted,
                           least == most ? fmt::format("{}", least)
                                         : fmt::format("at least {}, at most {}", least, most)));
  }
}

void judge_generator(const Facts& facts, const Limits& limits, Validity& validity) {
  const auto limited = [&](std::string reason) {
    validity.add(Verdict::kGeneratorLimited, std::move(reason));
  };
  if (facts.harness_share > limits.harness_share) {
    limited(fmt::format("the harness used {:.1f} % of the CPU time (limit {:.0f} %)",
                        100 * facts.harness_share, 100 * limits.harness_share));
  }
  if (facts.pacer_lag_p99 > limits.pacer_lag_p99) {
    limited(fmt::format("the generator itself was late: p99 {} after plan (limit {})",
                        format_duration(facts.pacer_lag_p99),
                        format_duration(limits.pacer_lag_p99)));
  }
  const double cap_share =
      facts.planned == 0 ? 0.0
                         : static_cast<double>(facts.cap_hits) / static_cast<double>(facts.planned);
  if (cap_share > limits.cap_share) {
    limited(
        fmt::format("{:.1f} % of the arrivals found the in-flight cap reached (limit {:.0f} %); "
                    "raise `concurrency` or lower the rate",
                    100 * cap_share, 100 * limits.cap_share));
  }
}

}  // namespace

std::string_view name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kValid:
      return "VALID";
    case Verdict::kNotSteady:
      return "NOT_STEADY";
    case Verdict::kHostContended:
      return "HOST_CONTENDED";
    case Verdict::kGeneratorLimited:
      return "GENERATOR_LIMITED";
    case Verdict::kUnbalanced:
      return "UNBALANCED";
    case Verdict::kServerCrashed:
      return "SERVER_CRASHED";
  }
  return "UNKNOWN";
}

bool Validity::has(Verdict what) const noexcept {
  return std::find(found.begin(), found.end(), what) != found.end();
}

void Validity::add(Verdict what, std::string reason) {
  verdict = std::max(verdict, what);
  found.push_back(what);
  reasons.push_back(std::move(reason));
}

void Validity::merge(const Validity& other) {
  for (std::size_t i = 0; i < other.found.size(); ++i) add(other.found[i], other.reasons[i]);
}

Validity judge(const Facts& facts, const Limits& limits) {
  Validity validity;
  for (const auto& server : facts.server_gone) validity.add(Verdict::kServerCrashed, server);
  judge_books(facts, limits, validity);
  judge_generator(facts, limits, validity);
  if (facts.foreign_cores > limits.foreign_cores) {
    validity.add(Verdict::kHostContended,
                 fmt::format("others used {:.0f} % of one core during the window (limit {:.0f} %)",
                             100 * facts.foreign_cores, 100 * limits.foreign_cores));
  }
  if (facts.steal_share > limits.steal_share) {
    validity.add(Verdict::kHostContended,
                 fmt::format("the hypervisor stole {:.1f} % of the CPU time (limit {:.0f} %)",
                             100 * facts.steal_share, 100 * limits.steal_share));
  }
  if (!facts.steady) {
    validity.add(Verdict::kNotSteady, "the throughput had not settled at the end of the warm-up: " +
                                          facts.steady_detail);
  }
  return validity;
}

}  // namespace plimsoll::load
