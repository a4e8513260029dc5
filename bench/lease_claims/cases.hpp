#pragma once

#include <memory>
#include <string_view>

#include "bench/lease_claims/stage.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::bench {

/// A stage on the session's server. Errors: as Stage::make and bench::postgres.
[[nodiscard]] Result<std::unique_ptr<Stage>> make_stage(std::string_view suffix, Rows rows);

/// One for each bench file of the group.
void register_solo_cases();
void register_work_cases();
void register_crew_cases();
void register_fault_cases();
void register_snapshot_cases();

}  // namespace plimsoll::bench
