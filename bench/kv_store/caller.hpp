#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "bench/kv_store/stage.hpp"

namespace plimsoll::bench {

/// One store on a loop of its own, which a plain function drives call by call. The loop runs on the
/// calling thread, so an operation costs no hop.
class Caller {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Caller>> open(Stage& stage) {
    auto caller = std::make_unique<Caller>();
    auto opened = caller->run(stage.open(caller->loop_.get_executor()));
    if (!opened) return fail(opened.error());
    caller->opened_ = std::move(*opened);
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
  [[nodiscard]] asio::any_io_executor executor() { return loop_.get_executor(); }
  [[nodiscard]] kv::Store& store() noexcept { return *opened_.store; }
  [[nodiscard]] OpenStore& opened() noexcept { return opened_; }

 private:
  asio::io_context loop_{1};
  OpenStore opened_;
};

}  // namespace plimsoll::bench
