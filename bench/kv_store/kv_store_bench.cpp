// The group's cases, in the order of the report. Each file beside this one asks one question.
#include "bench/harness/case.hpp"
#include "bench/harness/infra.hpp"
#include "bench/kv_store/audit.hpp"
#include "bench/kv_store/cases.hpp"

namespace plimsoll::bench {

const std::string_view kGroup = "kv_store";

Result<std::unique_ptr<Stage>> make_stage(Subject subject, Stock stock) {
  if (subject == Subject::kPostgres) {
    auto server = postgres();
    if (!server) return fail(server.error());
    return Stage::on(std::move(*server), stock);
  }
  auto server = redis();
  if (!server) return fail(server.error());
  return Stage::on(std::move(*server), stock);
}

Stock stock_of_size(std::size_t value) {
  Stock stock;
  stock.value = value;
  stock.keys = scaled<std::size_t>(200, 2000, 50'000);
  // Large values are fewer: what they cost is bytes, not look-ups.
  if (value > 1024) stock.keys = scaled<std::size_t>(100, 100, 500);
  return stock;
}

void check(Case& c, Stage& stage, const Score& score) {
  const auto found = stage.look();
  if (!found) return c.fail(found.error());
  for (const auto& [invariant, value] : audit(*found, score)) c.invariant(invariant, value);
}

void register_cases() {
  needs_postgres();
  register_crew_cases();
  register_list_cases();
  register_work_cases();
  register_long_cases();
}

}  // namespace plimsoll::bench
