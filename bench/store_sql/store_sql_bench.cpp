// The group's cases, in the order of the report. Each file beside this one asks one question.
#include <fmt/format.h>

#include "bench/harness/case.hpp"
#include "bench/harness/infra.hpp"
#include "bench/store_sql/audit.hpp"
#include "bench/store_sql/cases.hpp"

namespace plimsoll::bench {

const std::string_view kGroup = "store_sql";

Result<std::unique_ptr<Stage>> make_stage(std::string_view suffix, Stock stock) {
  auto server = postgres();
  if (!server) return fail(server.error());
  return Stage::make(std::move(*server), suffix, stock);
}

Stock stock_of_size() {
  Stock stock;
  stock.items = scaled<std::int64_t>(1000, 10'000, 100'000);
  return stock;
}

std::string depth_suffix(const Task& task) {
  return task.depth == 1 ? std::string() : fmt::format("/depth:{}", task.depth);
}

void check_table(Case& c, Stage& stage, std::int64_t rows, std::int64_t amounts) {
  const auto count = [&](std::string_view invariant, const std::string& sql, std::int64_t less) {
    const auto value = stage.number(sql);
    if (!value) return c.fail(value.error());
    c.invariant(invariant, *value - less);
  };
  count("rows_unaccounted", std::string(kRowsPresent), stage.stock().items + rows);
  count("amounts_unaccounted", std::string(kAmounts), amounts);
  count("bodies_altered", fmt::format(kBodiesAltered, stage.stock().body), 0);
}

void register_cases() {
  needs_postgres();
  register_solo_cases();
  register_work_cases();
  register_crew_cases();
  register_copy_cases();
}

}  // namespace plimsoll::bench
