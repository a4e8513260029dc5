#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::compare {

/// One element of `benchmarks`, as written.
struct RawRow {
  nlohmann::json fields;              ///< Of a repeated key the first value: Google Benchmark
                                      ///< writes its own keys before the counters.
  std::vector<std::string> repeated;  ///< The keys that came again.
};

/// What the walk over a result file delivers.
struct RawFile {
  nlohmann::json context;  ///< Null where the file has none.
  bool has_rows = false;   ///< The key `benchmarks` was there, with an array.
};

/// How much of each row is kept.
enum class Keep {
  kJudged,      ///< Not histograms, resource series and ledgers: most of the bytes, no verdict.
  kEverything,  ///< For writing the rows again.
};

/// Walks a result file and hands over its rows one by one, so that the file is never in memory as a
/// tree. `text` must have gone through mark_bare_tokens.
///
/// Errors: kInvalidArgument, with byte offset, line:column and reason; without the file's name.
[[nodiscard]] Result<RawFile> walk_result(const std::string& text, Keep keep,
                                          const std::function<void(RawRow)>& row);

/// "byte 17 (2:5)" for the byte at `offset`, counted from 0; line and column count from 1.
[[nodiscard]] std::string position_in(std::string_view text, std::size_t offset);

}  // namespace plimsoll::compare
