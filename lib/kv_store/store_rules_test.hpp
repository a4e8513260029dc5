#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/kv_store/loop_test.hpp"
#include "lib/kv_store/store.hpp"

namespace plimsoll::kv {

/// What a subject must bring: `open` returns a store that is empty, and lives until the next one.
/// An error is thrown.
class Bench {
 public:
  virtual ~Bench() = default;
  virtual Store& open() = 0;
  Loop& loop() { return loop_; }

 protected:
  Loop loop_;
};

/// The rules that hold for every subject, each as a sentence. `Subject` derives from Bench.
template <class Subject>
class StoreRules : public ::testing::Test {
 protected:
  void SetUp() override { store_ = &subject_.open(); }

  template <class T>
  T run(asio::awaitable<T> work) {
    return subject_.loop().run(std::move(work));
  }
  template <class T>
  std::vector<T> run_all(std::vector<asio::awaitable<T>> works) {
    return subject_.loop().run_all(std::move(works));
  }
  /// The value of a call that must succeed.
  template <class T>
  T good(asio::awaitable<Result<T>> work) {
    auto result = run(std::move(work));
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
  }
  template <class T>
  Error bad(asio::awaitable<Result<T>> work) {
    auto result = run(std::move(work));
    if (result) throw std::runtime_error("succeeded where it must not");
    return result.error();
  }
  Version set(const std::string& tenant, const std::string& key, const std::string& value) {
    return good(store_->set(tenant, Write(key, value)));
  }
  /// Empty where there is no entry.
  std::string value(const std::string& tenant, const std::string& key) {
    const auto entry = good(store_->get(tenant, key));
    return entry ? entry->value : std::string();
  }
  /// All keys with the prefix, page by page.
  std::vector<std::string> keys(const std::string& tenant, const std::string& prefix,
                                std::size_t limit = 100) {
    std::vector<std::string> all;
    std::string cursor;
    do {
      const auto page = good(store_->list(tenant, prefix, limit, cursor));
      EXPECT_LE(page.entries.size(), limit);
      for (const auto& entry : page.entries) all.push_back(entry.key);
      cursor = page.cursor;
    } while (!cursor.empty());
    return all;
  }
  /// Until the entry's ttl is over, by what the store itself says.
  void wait_until_gone(const std::string& tenant, const std::string& key) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (good(store_->get(tenant, key))) {
      if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error("never expired");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  Subject subject_;
  Store* store_ = nullptr;
};

}  // namespace plimsoll::kv
