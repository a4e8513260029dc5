#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/row.hpp"
#include "bench/harness/session.hpp"

namespace plimsoll::bench {

/// How many cases ended in which way. A case is failed if one of its repetitions is.
struct Tally {
  std::size_t cases = 0;
  std::size_t failed = 0;
  std::size_t not_valid = 0;    ///< Measured, but not to be believed.
  std::size_t interrupted = 0;  ///< Not run, or not all repetitions of it: a signal came.
};

/// The lines of one case: its repetitions folded into one line with the figure that gates it, its
/// work per operation, and below it whatever is wrong. Pure.
[[nodiscard]] std::string table_lines(std::span<const Row> repetitions, bool colours);

/// The table's head, for the width of `table_lines`.
[[nodiscard]] std::string table_head(bool colours);

/// True where escape sequences may be written: the flag decides, else NO_COLOR unset and a
/// terminal.
[[nodiscard]] bool use_colours(Colour flag, const Environment& environment, bool is_terminal);

/// The table on stdout, at most 100 columns wide, grouped by subject.
class Console {
 public:
  Console(std::FILE* out, bool colours) : out_(out), colours_(colours) {}

  void begin(const Session& session, std::size_t cases);
  void show(std::span<const Row> repetitions);
  void end(const Tally& tally, const std::string& file);

 private:
  std::FILE* out_;
  bool colours_;
  std::string subject_;
};

}  // namespace plimsoll::bench
