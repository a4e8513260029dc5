#include "bench/vault_crypto/foreign.hpp"

#include <fmt/format.h>

#include <chrono>
#include <sstream>
#include <utility>

namespace plimsoll::bench {
namespace {

/// Far more than a reader takes for its first answer or its last.
constexpr std::chrono::seconds kPatience{60};

}  // namespace

Result<ForeignReader> ForeignReader::start(const std::string& dsn, std::uint64_t seed,
                                           std::size_t secrets) {
  auto helper = HelperProcess::start({.program = program_beside_us("plimsoll-vault-reader"),
                                      .input = fmt::format("{}\n{} {}\n", dsn, seed, secrets),
                                      .stays_open = true,
                                      .answers = true});
  if (!helper) return fail(helper.error());
  const auto first = helper->line(kPatience);
  if (!first) return fail(first.error());
  if (*first != "reading") return fail(Errc::kInternal, "the foreign reader: " + *first);
  return ForeignReader(std::move(*helper));
}

Result<ForeignCounts> ForeignReader::stop() {
  helper_.end_input();  // Tells it to stop.
  const auto answer = helper_.line(kPatience);
  if (!answer) return fail(answer.error());
  ForeignCounts counts;
  std::istringstream words(*answer);
  words >> counts.right >> counts.unknown_key >> counts.torn >> counts.wrong >> counts.others;
  if (!words) return fail(Errc::kInternal, "the foreign reader: " + *answer);
  if (const int status = helper_.wait(); status != 0) {
    return fail(Errc::kInternal, fmt::format("the foreign reader: status {}", status));
  }
  return counts;
}

}  // namespace plimsoll::bench
