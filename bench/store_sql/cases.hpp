#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bench/harness/case.hpp"
#include "bench/store_sql/acts.hpp"
#include "bench/store_sql/stage.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::bench {

/// A stage on the session's server. Errors: as Stage::make and bench::postgres.
[[nodiscard]] Result<std::unique_ptr<Stage>> make_stage(std::string_view suffix, Stock stock);

/// The stock of every case of the size.
[[nodiscard]] Stock stock_of_size();

/// "/depth:10", or nothing for a statement alone.
[[nodiscard]] std::string depth_suffix(const Task& task);

/// The invariants that hold after every case: rows_unaccounted and amounts_unaccounted (what the
/// table has beyond the stock, against what was acknowledged: more or less than 0 is one lost or
/// one too many), bodies_altered. Counted by SQL.
void check_table(Case& c, Stage& stage, std::int64_t rows, std::int64_t amounts);

/// One for each bench file of the group.
void register_solo_cases();
void register_work_cases();
void register_crew_cases();
void register_copy_cases();

}  // namespace plimsoll::bench
