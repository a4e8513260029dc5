#pragma once

#include <memory>
#include <string_view>

#include "bench/rls_queue/stage.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::bench {

/// A stage on the session's server. Errors: as Stage::make and bench::postgres.
[[nodiscard]] Result<std::unique_ptr<Stage>> make_stage(std::string_view suffix, Shape shape = {});
/// The same with PgBouncer before the jobs' connections. Errors: also bench::pooler.
[[nodiscard]] Result<std::unique_ptr<Stage>> make_pooled_stage(std::string_view suffix,
                                                               Shape shape = {});
/// Ends the name of a case through it.
inline constexpr std::string_view kPooledSuffix = "/via:pgbouncer";

/// One for each bench file of the group.
void register_solo_cases();
void register_work_cases();
void register_policy_cases();
void register_load_cases();
void register_turn_cases();
void register_leak_cases();

}  // namespace plimsoll::bench
