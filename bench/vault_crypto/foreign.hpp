#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "bench/harness/helper_process.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::bench {

/// What a process saw that holds only an old master key.
struct ForeignCounts {
  std::int64_t right = 0;        ///< Read, and what was stored.
  std::int64_t unknown_key = 0;  ///< Refused with kNotFound, "no master key version".
  std::int64_t torn = 0;
  std::int64_t wrong = 0;   ///< Read without an error, and another plaintext than was stored.
  std::int64_t others = 0;  ///< Any other error.
};

/// The program plimsoll-vault-reader beside this one: a process of its own that reads secret after
/// secret with version 1 of the master key alone, until it is told to stop.
///
/// Thread safety: none. Errors: kUnavailable (no such program), kInternal (it failed; its words).
class ForeignReader {
 public:
  /// Returns once it has read its first secret.
  [[nodiscard]] static Result<ForeignReader> start(const std::string& dsn, std::uint64_t seed,
                                                   std::size_t secrets);
  /// Ends, by force, with its object if it was not stopped.
  [[nodiscard]] Result<ForeignCounts> stop();

 private:
  explicit ForeignReader(HelperProcess helper) : helper_(std::move(helper)) {}

  HelperProcess helper_;
};

}  // namespace plimsoll::bench
