// A program beside the benchmarks, for two things that need a process of their own:
//
//   plimsoll-lease-claims sql SCHEMA   the group's tables and statements in SCHEMA as one JSON
//   object,
//                                      for running them by other tools (ci/peers.d/lease_claims)
//   plimsoll-lease-claims hold         a worker that may be killed or frozen: reads dsn, schema,
//                                      tenants, ttl in ms, subject, batch and its parent's pid,
//                                      a line each, from standard input, then claims and fires
//                                      until it is ended
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>

#include "bench/lease_claims/acts.hpp"
#include "bench/lease_claims/audit.hpp"
#include "lib/core/json.hpp"
#include "lib/core/rng.hpp"
#include "lib/lease_claims/claimer.hpp"
#include "lib/lease_claims/schema.hpp"

namespace {

using namespace plimsoll;

constexpr std::array kSubjects{lease::Subject::kSkipLocked, lease::Subject::kSkipLockedBatch,
                               lease::Subject::kAdvisory, lease::Subject::kUpdateReturning};

int refuse(const std::string& reason) {
  fmt::print(stderr, "plimsoll-lease-claims: {}\n", reason);
  return 2;
}

int print_sql(const std::string& schema, const std::string& tenants, const std::string& rows) {
  bench::Rows shape;
  const auto number = [](const std::string& text, int& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{} &&
           value > 0;
  };
  if (!number(tenants, shape.tenants) || !number(rows, shape.each)) {
    return refuse("TENANTS and ROWS are whole numbers from 1 on");
  }
  const auto ddl = lease::ddl(schema);
  if (!ddl) return refuse(ddl.error().message);
  nlohmann::ordered_json all{{"ddl", *ddl}, {"fill", bench::fill_sql(shape)}};
  for (const auto subject : kSubjects) {
    all["claim"][std::string(lease::name(subject))] =
        lease::statements_for(subject, schema)->claim.sql;
  }
  fmt::print("{}\n", json_text(all, 2));
  return 0;
}

/// Holds each lease for a moment before it fires, so that a signal finds it holding one.
int hold() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string dsn;
  std::string schema;
  std::uint64_t tenants = 0;
  std::int64_t ttl = 0;
  std::string subject;
  std::size_t batch = 0;
  ::pid_t parent = 0;
  if (!std::getline(std::cin, dsn) || !std::getline(std::cin, schema) ||
      !(std::cin >> tenants >> ttl >> subject >> batch >> parent)) {
    return refuse(
        "hold reads dsn, schema, tenants, ttl, subject, batch and parent from standard input");
  }
  // Who died before we asked for the signal sends none.
  if (::getppid() != parent) return refuse("the parent is gone");
  const auto* const way = std::find_if(kSubjects.begin(), kSubjects.end(),
                                       [&](auto each) { return lease::name(each) == subject; });
  if (way == kSubjects.end()) return refuse("no subject is named " + subject);
  auto caller = bench::Caller::connect(dsn);
  if (!caller) return refuse(caller.error().message);
  const auto claimer = lease::Claimer::make(*way, schema);
  if (!claimer) return refuse(claimer.error().message);
  Rng draw(static_cast<std::uint64_t>(::getpid()));
  while (true) {
    pg::Connection& connection = (*caller)->connection();
    const lease::ClaimRequest request{std::to_string(draw.below(tenants)),
                                      std::string(bench::kHolderName),
                                      std::chrono::milliseconds{ttl}, batch};
    const auto leases = (*caller)->run(claimer->claim(connection, request));
    if (!leases && leases.error().code == Errc::kBusy) continue;  // Every race was lost.
    if (!leases) return refuse(leases.error().message);
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    for (const lease::Lease& lease : *leases) {
      const auto fired = (*caller)->run(claimer->fire(connection, lease));
      if (!fired && fired.error().code != Errc::kConflict) return refuse(fired.error().message);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "sql" && argc == 5) return print_sql(argv[2], argv[3], argv[4]);
  if (verb == "hold" && argc == 2) return hold();
  return refuse("say `sql SCHEMA TENANTS ROWS` or `hold`");
}
