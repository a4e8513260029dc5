#pragma once

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/pg/batch_queue.hpp"

namespace plimsoll::pg {

class TestEntry final : public BatchEntry {
 public:
  using BatchEntry::BatchEntry;
  int told = 0;

 private:
  void on_done() noexcept override { ++told; }
};
using TestEntryPtr = std::shared_ptr<TestEntry>;

inline Error sql_error(std::string sqlstate, Errc code = Errc::kRejected) {
  return {code, "refused", std::move(sqlstate)};
}

// "k=v" of each slot, and how many it stands for where that is not one.
inline std::vector<std::string> text_of(std::span<const BatchSlot> slots) {
  std::vector<std::string> texts;
  for (const auto& slot : slots) {
    std::string text = slot.item().key + "=" + slot.item().values.front().value_or("NULL");
    if (slot.count() > 1) text += "x" + std::to_string(slot.count());
    texts.push_back(text);
  }
  return texts;
}

class BatchQueueTest : public ::testing::Test {
 protected:
  TestEntryPtr add(std::string key, std::string value = "v") {
    auto entry = std::make_shared<TestEntry>(BatchItem(std::move(key), params(std::move(value))));
    EXPECT_TRUE(queue_.add(entry, now_).has_value());
    return entry;
  }
  std::vector<std::string> begin() { return text_of(queue_.begin(now_)); }
  void commit(std::size_t slots) { queue_.on_committed(std::vector<BatchAnswer>(slots)); }
  void limit_to(BatchLimits limits) { queue_ = BatchQueue(limits); }

  // Plays a server to which `poison` values are an error, until nothing is left to send. Returns
  // what was committed, and how often.
  std::map<std::string, int> play(const std::set<std::string>& poison, bool own_statements) {
    std::map<std::string, int> committed;
    for (auto slots = queue_.begin(now_); !slots.empty(); slots = queue_.begin(now_)) {
      std::optional<std::size_t> bad;
      for (std::size_t i = 0; i < slots.size() && !bad; ++i) {
        if (poison.contains(*slots[i].item().values.front())) bad = i;
      }
      if (bad) {
        queue_.on_failed({sql_error("22003"), own_statements ? bad : std::nullopt});
        continue;
      }
      for (const auto& slot : slots) ++committed[*slot.item().values.front()];
      commit(slots.size());
    }
    return committed;
  }

  TimePoint now_{};
  BatchQueue queue_{BatchLimits{}};
};

}  // namespace plimsoll::pg
