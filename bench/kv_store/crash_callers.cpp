#include "bench/kv_store/crash_callers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <optional>

#include "lib/core/with_timeout.hpp"

namespace plimsoll::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kKeysOfACaller = 8;

}  // namespace

asio::awaitable<Result<void>> CrashCallers::begin() {
  kv::Write write("counter", "0");
  Result<kv::Version> version = co_await store_.set("sum", std::move(write));
  if (!version) co_return fail(std::move(version.error()));
  co_return Result<void>{};
}

bool CrashCallers::note(const Error& error) {
  kinds_.emplace(name(error.code));
  return false;
}

asio::awaitable<void> CrashCallers::call(std::size_t caller) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  while (!stop_) {
    const std::int64_t number = ++numbers_[caller];
    bool done = false;
    if (number % 8 == 7) {
      done = co_await add();
    } else {
      done = co_await write(caller, number);
    }
    if (done) continue;
    pause.expires_after(2ms);
    [[maybe_unused]] const auto waited = co_await pause.async_wait(kAsValue);
  }
}

asio::awaitable<bool> CrashCallers::write(std::size_t caller, std::int64_t number) {
  const std::string key = fmt::format("{}.{}", caller, number % kKeysOfACaller);
  const WriteLedger::Write entry{number % 11 == 0, number};
  std::optional<Error> error;
  if (entry.is_erase) {
    Result<bool> erased = co_await store_.erase("acme", key);
    if (!erased) error = erased.error();
  } else {
    kv::Write what(key, std::to_string(number));
    Result<kv::Version> version = co_await store_.set("acme", std::move(what));
    if (!version) error = version.error();
  }
  if (!error) {
    ledger_.acknowledge(key, entry);
    ++acknowledged_;
    co_return true;
  }
  if (!error->unsent) ledger_.leave_unknown(key, entry);
  co_return note(*error);
}

asio::awaitable<bool> CrashCallers::add() {
  Result<std::optional<kv::Entry>> entry = co_await store_.get("sum", "counter");
  if (!entry) co_return note(entry.error());
  if (!*entry) {
    // A server that forgets may forget even this.
    Error gone{Errc::kNotFound, "the counter is gone", {}};
    co_return note(gone);
  }
  kv::Write write("counter", std::to_string(std::stoll((*entry)->value) + 1));
  Result<kv::Version> version =
      co_await store_.compare_and_set("sum", std::move(write), (*entry)->version);
  if (version) {
    ++additions_;
    co_return true;
  }
  if (version.error().code == Errc::kConflict && version.error().sqlstate.empty()) co_return true;
  if (!version.error().unsent) ++unknown_additions_;
  co_return note(version.error());
}

void CrashCallers::judge(const std::map<std::string, std::int64_t>& found, std::int64_t counter,
                         CrashCounts& counts) {
  const auto verdict = ledger_.judge(found);
  counts.lost += verdict.lost;
  counts.invented += verdict.invented;
  const std::int64_t added = counter - counter_;
  counts.lost_updates += std::max<std::int64_t>(0, additions_ - added);
  counts.extra_updates += std::max<std::int64_t>(0, added - additions_ - unknown_additions_);
  counter_ = counter;
  additions_ = unknown_additions_ = 0;
  ++counts.cycles;
  counts.acknowledged = ledger_.acknowledged();
  counts.unknown = ledger_.unknown();
  counts.kinds = kinds_;
}

}  // namespace plimsoll::bench
