#pragma once

namespace plimsoll::bench {

/// One for each bench file of the group.
void register_solo_cases();
void register_work_cases();
void register_crew_cases();
void register_fault_cases();
void register_snapshot_cases();

}  // namespace plimsoll::bench
