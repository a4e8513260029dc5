#include <fmt/format.h>

#include "compare/cli/verbs.hpp"
#include "compare/history/baseline.hpp"
#include "compare/print_error.hpp"
#include "compare/read/reader.hpp"

namespace plimsoll::compare {
namespace {

constexpr int kIncomplete = 4;

}  // namespace

int record_main(const RecordOptions& options) {
  const auto sessions = read_all(options.files);
  if (!sessions) return usage_error("record", sessions.error().message);
  for (const Session& session : *sessions) {
    if (session.runs.empty()) {
      print_error("plimsoll-compare record: {}: nothing was measured\n", session.file);
      return kIncomplete;
    }
  }
  const auto outcome = record(options.to, *sessions);
  if (!outcome) return usage_error("record", outcome.error().message);
  std::string text;
  for (const std::string& note : outcome->notes) text += note + "\n";
  if (!print(text)) return usage_error("record", "standard output cannot be written");
  // A session that the baselines have already is no failure; one without a VALID run is.
  return outcome->added + outcome->known > 0 ? 0 : kIncomplete;
}

}  // namespace plimsoll::compare
