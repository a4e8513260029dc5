#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/kv_store/crash.hpp"
#include "lib/core/result.hpp"
#include "lib/kv_store/store.hpp"

namespace plimsoll::bench {

namespace asio = boost::asio;

/// Callers that set, erase and add through one store, and write down what they were told.
///
/// Thread safety: `acknowledged` and `stop` from any thread; the rest on the store's executor, or
/// while no caller is at work.
class CrashCallers {
 public:
  /// REQUIRES: the store outlives this object, and this object its coroutines.
  CrashCallers(kv::Store& store, std::size_t callers) : store_(store), numbers_(callers) {}

  /// The counter that all add to.
  [[nodiscard]] asio::awaitable<Result<void>> begin();
  /// Writes without a pause until told to stop; after an error it waits a little.
  [[nodiscard]] asio::awaitable<void> call(std::size_t caller);

  void stop(bool value) noexcept { stop_ = value; }
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  [[nodiscard]] std::size_t count() const noexcept { return numbers_.size(); }

  /// Holds what was found after a crash against what was told, adds it to `counts`, and takes it
  /// for what is acknowledged from now on.
  void judge(const std::map<std::string, std::int64_t>& found, std::int64_t counter,
             CrashCounts& counts);

 private:
  [[nodiscard]] asio::awaitable<bool> write(std::size_t caller, std::int64_t number);
  [[nodiscard]] asio::awaitable<bool> add();
  [[nodiscard]] bool note(const Error& error);

  kv::Store& store_;
  std::vector<std::int64_t> numbers_;  ///< The last of each caller.
  WriteLedger ledger_;
  std::int64_t additions_ = 0;  ///< Acknowledged since the last verdict.
  std::int64_t unknown_additions_ = 0;
  std::int64_t counter_ = 0;  ///< As it was found at the last verdict.
  std::set<std::string> kinds_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> acknowledged_{0};
};

}  // namespace plimsoll::bench
