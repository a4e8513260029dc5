#include "bench/kv_store/acts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace plimsoll::bench {
namespace {

constexpr std::size_t kMostErasers = 64;  // Callers of kMixed, each with a place of its own.

}  // namespace

std::string_view name(Act act) noexcept {
  constexpr std::array<std::string_view, 8> kNames{"set", "get_hit",   "get_miss",  "delete",
                                                   "cas", "batch_set", "batch_get", "mixed"};
  return kNames[static_cast<std::size_t>(act)];
}

asio::awaitable<load::Outcome> Acts::step() {
  Result<std::size_t> items = co_await step_of(task_.act);
  if (!items) co_return load::outcome_of(items.error());
  co_return load::Outcome{load::Outcome::Kind::kOk, *items, {}};
}

Acts::Work Acts::step_of(Act act) {
  switch (act) {
    case Act::kSet:
      return set(draw_(rng_));
    case Act::kGetHit:
      return get(draw_(rng_));
    case Act::kGetMiss:
      return miss(draw_(rng_));
    case Act::kErase:
      return erase(score_.next_erase++ % stock_.places());
    case Act::kCas:
      return add(rng_.below(task_.hot));
    case Act::kBatchSet:
      return batch_set(rng_.below(stock_.keys - task_.batch + 1));
    case Act::kBatchGet:
      return batch_get(rng_.below(stock_.keys - task_.batch + 1));
    case Act::kMixed:
      break;
  }
  // The places of additions and of erases are apart, so that a number is never taken from under an
  // addition, and a get meets what is erased only where it may.
  constexpr std::array<Act, 6> kTurns{Act::kGetHit, Act::kSet,    Act::kGetHit,
                                      Act::kCas,    Act::kGetHit, Act::kSet};
  const std::size_t turn = turn_++ % 8;
  if (turn == 7) return miss(draw_(rng_));
  if (turn == 6) return erase_and_set(stock_.places() - 1 - caller_);
  const Act now = kTurns[turn];
  const std::size_t middle =
      task_.hot + rng_.below(stock_.places() - task_.hot - kMostErasers);  // Neither of those.
  if (now == Act::kCas) return add(rng_.below(task_.hot));
  return now == Act::kSet ? set(middle) : get(middle);
}

void Acts::acknowledge(std::size_t place, kv::Version version) {
  auto& last = score_.acknowledged[place];
  last = std::max(last, version);
}

std::int64_t Acts::check(std::size_t place, const std::optional<kv::Entry>& entry) {
  if (!entry) {
    ++score_.wrong_reads;
    return 0;
  }
  const std::int64_t number = number_in(stock_, place, entry->value);
  if (number < 0) ++score_.foreign_reads;
  return number;
}

Acts::Work Acts::set(std::size_t place) {
  kv::Write write(key_of(stock_, place), value_of(stock_, place, 0));
  Result<kv::Version> version = co_await store_.set(tenant_of(stock_, place), std::move(write));
  if (!version) co_return fail(std::move(version.error()));
  acknowledge(place, *version);
  co_return std::size_t{1};
}

Acts::Work Acts::get(std::size_t place) {
  Result<std::optional<kv::Entry>> entry =
      co_await store_.get(tenant_of(stock_, place), key_of(stock_, place));
  if (!entry) co_return fail(std::move(entry.error()));
  check(place, *entry);
  co_return std::size_t{1};
}

Acts::Work Acts::miss(std::size_t place) {
  std::string key = key_of(stock_, place);
  key.front() = 'm';
  Result<std::optional<kv::Entry>> entry =
      co_await store_.get(tenant_of(stock_, place), std::move(key));
  if (!entry) co_return fail(std::move(entry.error()));
  if (*entry) ++score_.wrong_reads;
  co_return std::size_t{1};
}

Acts::Work Acts::erase(std::size_t place) {
  Result<bool> found = co_await store_.erase(tenant_of(stock_, place), key_of(stock_, place));
  if (!found) co_return fail(std::move(found.error()));
  if (*found == (score_.acknowledged[place] == kv::kAbsent)) ++score_.wrong_reads;
  score_.acknowledged[place] = kv::kAbsent;
  co_return std::size_t{1};
}

Acts::Work Acts::add(std::size_t place) {
  Result<std::optional<kv::Entry>> entry =
      co_await store_.get(tenant_of(stock_, place), key_of(stock_, place));
  if (!entry) co_return fail(std::move(entry.error()));
  const std::int64_t number = check(place, *entry);
  if (!*entry || number < 0) co_return std::size_t{0};
  kv::Write write(key_of(stock_, place), value_of(stock_, place, number + 1));
  Result<kv::Version> version = co_await store_.compare_and_set(
      tenant_of(stock_, place), std::move(write), (*entry)->version);
  if (!version && version.error().code == Errc::kConflict && version.error().sqlstate.empty()) {
    co_return std::size_t{0};
  }
  if (!version) co_return fail(std::move(version.error()));
  acknowledge(place, *version);
  ++score_.additions;
  co_return std::size_t{1};
}

Acts::Work Acts::batch_set(std::size_t first) {
  std::vector<kv::Write> writes;
  writes.reserve(task_.batch);
  for (std::size_t i = 0; i < task_.batch; ++i) {
    writes.emplace_back(key_of(stock_, first + i), value_of(stock_, first + i, 0));
  }
  Result<std::vector<kv::Version>> versions =
      co_await store_.set_all(tenant_of(stock_, first), std::move(writes));
  if (!versions) co_return fail(std::move(versions.error()));
  for (std::size_t i = 0; i < task_.batch; ++i) acknowledge(first + i, (*versions)[i]);
  co_return task_.batch;
}

Acts::Work Acts::batch_get(std::size_t first) {
  std::vector<std::string> keys;
  keys.reserve(task_.batch);
  for (std::size_t i = 0; i < task_.batch; ++i) keys.push_back(key_of(stock_, first + i));
  Result<std::vector<std::optional<kv::Entry>>> entries =
      co_await store_.get_all(tenant_of(stock_, first), std::move(keys));
  if (!entries) co_return fail(std::move(entries.error()));
  for (std::size_t i = 0; i < task_.batch; ++i) check(first + i, (*entries)[i]);
  co_return task_.batch;
}

Acts::Work Acts::erase_and_set(std::size_t place) {
  Result<bool> found = co_await store_.erase(tenant_of(stock_, place), key_of(stock_, place));
  if (!found) co_return fail(std::move(found.error()));
  kv::Write write(key_of(stock_, place), value_of(stock_, place, 0));
  Result<kv::Version> version = co_await store_.set(tenant_of(stock_, place), std::move(write));
  if (!version) co_return fail(std::move(version.error()));
  acknowledge(place, *version);
  co_return std::size_t{1};
}

}  // namespace plimsoll::bench
