#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "bench/harness/case.hpp"
#include "bench/kv_store/acts.hpp"
#include "bench/kv_store/stage.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::bench {

/// A stage on the session's server. Errors: as Stage::on and bench::postgres or bench::redis.
[[nodiscard]] Result<std::unique_ptr<Stage>> make_stage(Subject subject, Stock stock);

/// The stock of every case of the size, with values of so many bytes.
[[nodiscard]] Stock stock_of_size(std::size_t value = 32);

/// The invariants of audit.hpp, asked of the server now.
void check(Case& c, Stage& stage, const Score& score);

/// One for each bench file of the group.
void register_crew_cases();
void register_list_cases();
void register_work_cases();
void register_long_cases();

}  // namespace plimsoll::bench
