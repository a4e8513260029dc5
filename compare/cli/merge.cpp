#include "compare/read/merge.hpp"

#include <fmt/format.h>

#include "compare/cli/verbs.hpp"
#include "compare/history/baseline.hpp"
#include "compare/print_error.hpp"

namespace plimsoll::compare {

int merge_main(const MergeOptions& options) {
  const auto merged = merge(options.files);
  if (!merged) return usage_error("merge", merged.error().message);
  for (const std::string& note : merged->notes) print_error("{}\n", note);
  if (options.out.empty()) {
    return print(merged->text) ? 0 : usage_error("merge", "standard output cannot be written");
  }
  if (auto written = replace_file(options.out, merged->text); !written) {
    return usage_error("merge", written.error().message);
  }
  const std::string line = fmt::format("{}: {} session{}\n", options.out, merged->sessions,
                                       merged->sessions == 1 ? "" : "s");
  return print(line) ? 0 : usage_error("merge", "standard output cannot be written");
}

}  // namespace plimsoll::compare
