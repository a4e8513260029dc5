#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/kv_store/draw.hpp"
#include "bench/kv_store/stage.hpp"
#include "lib/core/rng.hpp"
#include "lib/kv_store/store.hpp"
#include "lib/load/runner.hpp"

namespace plimsoll::bench {

/// What one caller does again and again.
enum class Act {
  kSet,       ///< A new value at a place drawn at random.
  kGetHit,    ///< The entry of a place.
  kGetMiss,   ///< A key of the same length that has none.
  kErase,     ///< The next place that was not erased yet.
  kCas,       ///< Reads one of a few hot places and adds one to its number, if nobody else did.
  kBatchSet,  ///< As many places at once, one after the other from a place drawn at random.
  kBatchGet,
  kMixed,  ///< Of eight: four gets, two sets, an addition, and an erase that is set again.
};

/// "set", "get_hit" and so on, as in the names of the cases.
[[nodiscard]] std::string_view name(Act act) noexcept;

struct Task {
  Act act = Act::kSet;
  std::size_t batch = 1;  ///< Places of one kBatchSet or kBatchGet.
  std::size_t hot = 4;    ///< Places that kCas contends for.
  Draw::Law law = Draw::Law::kUniform;
};

/// What was acknowledged to all callers, and what they read that they should not have.
struct Score {
  explicit Score(std::vector<kv::Version> versions) noexcept : acknowledged(std::move(versions)) {}

  std::vector<kv::Version> acknowledged;  ///< The last of each place; kAbsent after an erase.
  std::int64_t foreign_reads = 0;         ///< Values that named another owner, or were cut.
  std::int64_t wrong_reads = 0;           ///< A hit that was a miss, or the other way round.
  std::int64_t additions = 0;             ///< By compare-and-set.
  std::size_t next_erase = 0;
};

/// One caller's operations. Thread safety: none; on the store's executor, as all that share a
/// score.
class Acts {
 public:
  /// REQUIRES: all but the Rng outlive this object and its coroutines; of kMixed there are at most
  /// 64 callers, numbered from 0, and some hundred places.
  Acts(const Stock& stock, kv::Store& store, const Task& task, const Draw& draw, Score& score,
       Rng rng, std::size_t caller = 0) noexcept
      : stock_(stock),
        store_(store),
        task_(task),
        draw_(draw),
        score_(score),
        rng_(rng),
        caller_(caller) {}

  /// One operation. A lost compare-and-set is done, with 0 items.
  [[nodiscard]] asio::awaitable<load::Outcome> step();

 private:
  using Work = asio::awaitable<Result<std::size_t>>;  // How many items it did.

  [[nodiscard]] Work step_of(Act act);
  [[nodiscard]] Work set(std::size_t place);
  [[nodiscard]] Work get(std::size_t place);
  [[nodiscard]] Work miss(std::size_t place);
  [[nodiscard]] Work erase(std::size_t place);
  [[nodiscard]] Work add(std::size_t place);
  [[nodiscard]] Work batch_set(std::size_t first);
  [[nodiscard]] Work batch_get(std::size_t first);
  [[nodiscard]] Work erase_and_set(std::size_t place);
  /// Whether the entry is the place's own; counts what is not.
  std::int64_t check(std::size_t place, const std::optional<kv::Entry>& entry);
  void acknowledge(std::size_t place, kv::Version version);

  const Stock& stock_;
  kv::Store& store_;
  const Task& task_;
  const Draw& draw_;
  Score& score_;
  Rng rng_;
  std::size_t caller_;
  std::size_t turn_ = 0;
};

}  // namespace plimsoll::bench
