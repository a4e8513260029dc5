#pragma once

#include <nlohmann/json.hpp>

#include "lib/load/runner.hpp"

namespace plimsoll::bench {

/// The parts of a load report in the form of docs/json.md. Pure.
[[nodiscard]] nlohmann::ordered_json to_json(const load::Ledger& ledger);
[[nodiscard]] nlohmann::ordered_json to_json(const load::Histogram& histogram);
[[nodiscard]] nlohmann::ordered_json to_json(const load::Resources& resources);

/// Everything else that the runner measured: mode, window, warm-up, null subject, the host.
[[nodiscard]] nlohmann::ordered_json run_json(const load::Report& report);

}  // namespace plimsoll::bench
