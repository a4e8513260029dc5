#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compare/model.hpp"
#include "compare/read/row.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::compare {

/// The version of context.plimsoll that this code reads.
inline constexpr int kResultSchema = 1;

/// Google Benchmark's own json_schema_version, written from 1.8.4 on.
inline constexpr int kGoogleSchema = 1;

/// Makes the sessions of one file out of its context and rows. `plain_id` names the session where
/// the file does not.
/// Errors: kInvalidArgument for a schema newer than kResultSchema and for a metrics table with an
/// unknown word; without the file's name.
[[nodiscard]] Result<std::vector<Session>> build_sessions(const nlohmann::json& context,
                                                          std::vector<Row> rows,
                                                          const std::string& file,
                                                          const std::string& plain_id);

/// Reads a metrics table as context.plimsoll and the baselines hold it, and adds both clocks where
/// they are missing. Errors: kInvalidArgument, naming the entry and the words that are allowed.
[[nodiscard]] Result<MetricsTable> read_metrics(const nlohmann::json& table);

}  // namespace plimsoll::compare
