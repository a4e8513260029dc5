#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "bench/kv_store/acts.hpp"
#include "bench/kv_store/stage.hpp"

namespace plimsoll::bench {

/// What is wrong, by the invariant's name: each a count that must be 0. What the server holds is
/// asked by Stage::look, without the library.
///
///   acknowledged_lost    places whose entry is older than what was acknowledged last, or there
///                        although its erase was
///   unexplained_writes   places whose entry is newer than every acknowledged write
///   entries_unaccounted  entries at no place
///   misplaced_values     values that say that they belong elsewhere
///   lost_updates         additions that were acknowledged and are not in the numbers
///   cross_tenant_reads   values read that named another owner, or were cut
///   wrong_reads          hits that were misses, or the other way round
///
/// The cases and the tests of these counts (audit_pgtest.cpp, audit_redistest.cpp) read the same.
[[nodiscard]] std::map<std::string, std::int64_t> audit(const Found& found, const Score& score);

}  // namespace plimsoll::bench
