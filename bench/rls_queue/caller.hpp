#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "bench/rls_queue/stage.hpp"
#include "lib/rls_queue/queue.hpp"

namespace plimsoll::bench {

namespace asio = boost::asio;

/// One queue on a loop of its own, which a plain function drives job by job. The loop runs on the
/// calling thread, so a job costs no hop.
class Caller {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Caller>> open(const Stage& stage,
                                                            rls::Subject subject, bool with_actor,
                                                            bool sealed = true) {
    rls::Config config(stage.connection(), subject);
    config.settings.with_actor = with_actor;
    auto statements = rls::statements_for(config.settings);
    if (!statements) return fail(statements.error());
    if (!sealed) statements->seal.clear();
    auto caller = std::make_unique<Caller>();
    auto queue = caller->run(rls::Queue::open(std::move(config), std::move(*statements)));
    if (!queue) return fail(queue.error());
    caller->queue_ = std::move(*queue);
    return caller;
  }

  template <class T>
  T run(asio::awaitable<T> work) {
    std::optional<T> value;
    std::exception_ptr thrown;
    asio::co_spawn(loop_, std::move(work), [&](std::exception_ptr error, T result) {
      thrown = error;
      value.emplace(std::move(result));
    });
    loop_.restart();
    loop_.run();
    if (thrown) std::rethrow_exception(thrown);
    return std::move(*value);
  }
  [[nodiscard]] rls::Queue& queue() noexcept { return *queue_; }

 private:
  asio::io_context loop_{1};
  std::unique_ptr<rls::Queue> queue_;
};

}  // namespace plimsoll::bench
