#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/kv_store/acts.hpp"
#include "bench/kv_store/audit.hpp"
#include "bench/kv_store/caller.hpp"
#include "bench/kv_store/stage.hpp"
#include "lib/core/with_timeout.hpp"

namespace plimsoll::bench {

/// Runs operations of some callers and tells which counts are not 0.
class Audited {
 public:
  Audited(Stage& stage, kv::Store& store) : stage_(stage), store_(store), score_(look().versions) {}

  /// `steps` of each of the callers, all callers at once.
  void run(Caller& caller, const Task& task, int steps, std::size_t callers = 1) {
    const Draw draw(task.law, stage_.stock().places());
    std::vector<std::unique_ptr<Acts>> all;
    for (std::size_t i = 0; i < callers; ++i) {
      all.push_back(
          std::make_unique<Acts>(stage_.stock(), store_, task, draw, score_, Rng(i + 1), i));
    }
    const auto good = caller.run(together(all, steps));
    if (!good) throw std::runtime_error("an operation failed");
  }
  std::map<std::string, std::int64_t> red() {
    auto found = audit(look(), score_);
    std::erase_if(found, [](const auto& count) { return count.second == 0; });
    return found;
  }
  Score& score() { return score_; }

 private:
  static asio::awaitable<bool> steps(Acts& acts, int count) {
    for (int i = 0; i < count; ++i) {
      load::Outcome outcome = co_await acts.step();
      if (outcome.kind != load::Outcome::Kind::kOk) co_return false;
    }
    co_return true;
  }
  static asio::awaitable<bool> together(std::vector<std::unique_ptr<Acts>>& all, int count) {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer done(executor, asio::steady_timer::time_point::max());
    std::size_t left = all.size();
    bool is_good = true;
    for (auto& acts : all) {
      asio::co_spawn(executor, steps(*acts, count), [&](const std::exception_ptr& thrown, bool ok) {
        is_good = is_good && ok && !thrown;
        if (--left == 0) done.cancel();
      });
    }
    if (left > 0) {
      [[maybe_unused]] const auto waited = co_await done.async_wait(kAsValue);
    }
    co_return is_good;
  }
  Found look() {
    auto found = stage_.look();
    if (!found) throw std::runtime_error(found.error().message);
    return std::move(*found);
  }

  Stage& stage_;
  kv::Store& store_;
  Score score_;
};

}  // namespace plimsoll::bench
