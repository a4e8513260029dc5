// The group's cases, in the order of the report. Each file beside this one asks one question.
#include "bench/harness/case.hpp"
#include "bench/harness/infra.hpp"
#include "bench/rls_queue/cases.hpp"

namespace plimsoll::bench {

const std::string_view kGroup = "rls_queue";

Result<std::unique_ptr<Stage>> make_stage(std::string_view suffix, Shape shape) {
  auto server = postgres();
  if (!server) return fail(server.error());
  return Stage::make(std::move(*server), suffix, shape);
}

Result<std::unique_ptr<Stage>> make_pooled_stage(std::string_view suffix, Shape shape) {
  auto stage = make_stage(suffix, shape);
  if (!stage) return stage;
  auto before = pooler();
  if (!before) return fail(before.error());
  if (auto way = (*stage)->go_through(std::move(*before)); !way) return fail(way.error());
  return stage;
}

void register_cases() {
  needs_postgres();
  register_solo_cases();
  register_work_cases();
  register_policy_cases();
  register_load_cases();
  register_turn_cases();
  register_leak_cases();
}

}  // namespace plimsoll::bench
