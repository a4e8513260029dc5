// Question: does a small tenant get its turns behind a big one, and do a caller's jobs keep their
//           order?
// Method:   small_and_big: one caller of a small tenant among 199 of a big one, on four
// connections.
//           `small_tenant_share` is its part of the jobs, small_tenant_us_mean how long one of its
//           jobs took. burst: each caller submits eight jobs at once, which note their number in a
//           table whose sequence tells in which order they ran.
// Expect:   a share of one job in 64 or so, as many as are under way at once, where first in, first
//           out would give one in 200. Order: 0 jobs before an earlier one.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "bench/harness/case.hpp"
#include "bench/harness/metrics.hpp"
#include "bench/rls_queue/cases.hpp"
#include "bench/rls_queue/crew.hpp"

namespace plimsoll::bench {
namespace {

using rls::Subject;

constexpr std::size_t kCallers = 200;
constexpr std::size_t kConnections = 4;

void run_small(Case& c) {
  const Duty duty{Subject::kPool, Duty::Act::kSmallAndBig, kCallers, kConnections, false};
  const auto counts = run_crew(c, duty, Shape{2, 500, {}});
  if (!counts) return;
  if (counts->small_jobs == 0) {
    c.invariant("small_tenant_starved", 1);
    return;
  }
  const auto small = static_cast<double>(counts->small_jobs);
  using Microseconds = std::chrono::duration<double, std::micro>;
  c.counter("small_tenant_share", small / static_cast<double>(counts->jobs));
  c.counter("small_tenant_us_mean", Microseconds(counts->small_time).count() / small);
  // Smoke is too few jobs to tell. Twice its part of the callers is what no queue without turns
  // gives.
  if (size() == Size::kSmoke) return;
  c.invariant("small_tenant_starved", counts->small_jobs * kCallers < 2 * counts->jobs ? 1 : 0);
}

void add_burst(Subject subject, std::size_t connections) {
  const Duty duty{subject, Duty::Act::kBurst, 16, connections, false};
  load_case(fmt::format("{}/{}/burst/callers:16/jobs:{}", kGroup, rls::name(subject), kBurst),
            [duty](Case& c) { (void)run_crew(c, duty, Shape{}); }, {Resource::kDb, false});
}

}  // namespace

void register_turn_cases() {
  declare_metric({"small_tenant_share", "1", Better::kHigher, MetricClass::kInfo});
  declare_metric({"small_tenant_us_mean", "us", Better::kLower, MetricClass::kInfo});
  load_case(
      fmt::format("{}/pool/small_and_big/callers:{}/conns:{}", kGroup, kCallers, kConnections),
      &run_small, {Resource::kDb, false});
  add_burst(Subject::kPool, 8);
  if (size() != Size::kFull) return;
  add_burst(Subject::kSerial, 1);
  add_burst(Subject::kPipelined, 1);
}

}  // namespace plimsoll::bench
