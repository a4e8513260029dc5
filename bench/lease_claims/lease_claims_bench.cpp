// The group's cases, in the order of the report. Each file beside this one asks one question.
#include "bench/harness/case.hpp"
#include "bench/harness/infra.hpp"
#include "bench/lease_claims/cases.hpp"

namespace plimsoll::bench {

const std::string_view kGroup = "lease_claims";

Result<std::unique_ptr<Stage>> make_stage(std::string_view suffix, Rows rows) {
  auto server = postgres();
  if (!server) return fail(server.error());
  return Stage::make(std::move(*server), suffix, rows);
}

void register_cases() {
  needs_postgres();
  register_solo_cases();
  register_work_cases();
  register_crew_cases();
  register_fault_cases();
  register_snapshot_cases();
}

}  // namespace plimsoll::bench
