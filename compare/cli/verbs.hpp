#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::compare {

/// `plimsoll-compare check`.
struct CheckOptions {
  std::vector<std::string> files;      ///< NEW..., or OLD NEW.
  std::vector<std::string> baselines;  ///< Trees of baselines, baseline files, result files.
  std::string tree;                    ///< The build tree that made NEW.
  std::string base_tree;
  std::string base_rev;
  std::string ab = "auto";
  std::string json;
  std::string retired;
  std::vector<std::string> metrics;  ///< NAME=BETTER[:PERCENT]
  bool interleaved = false;
  bool all = false;
};

/// `plimsoll-compare record`.
struct RecordOptions {
  std::vector<std::string> files;
  std::string to = "baselines";
};

/// `plimsoll-compare show`.
struct ShowOptions {
  std::vector<std::string> files;
};

/// `plimsoll-compare merge`.
struct MergeOptions {
  std::vector<std::string> files;
  std::string out;  ///< Empty: standard output.
};

/// Each verb prints its result to stdout, its errors as one line to stderr, and returns the exit
/// code.
[[nodiscard]] int check_main(const CheckOptions& options);
[[nodiscard]] int record_main(const RecordOptions& options);
[[nodiscard]] int show_main(const ShowOptions& options);
[[nodiscard]] int merge_main(const MergeOptions& options);

/// Prints "plimsoll-compare VERB: MESSAGE" to stderr and returns 2.
int usage_error(std::string_view verb, std::string_view message);

/// Whether stdout is a terminal whose reader has not said NO_COLOR.
[[nodiscard]] bool wants_colour();

}  // namespace plimsoll::compare
