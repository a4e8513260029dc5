#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace plimsoll::kv {

namespace asio = boost::asio;

/// A loop that runs calls on this thread until all are finished.
class Loop {
 public:
  template <class T>
  std::vector<T> run_all(std::vector<asio::awaitable<T>> works) {
    std::vector<std::optional<T>> results(works.size());
    std::size_t left = works.size();
    for (std::size_t i = 0; i < works.size(); ++i) {
      asio::co_spawn(context_, std::move(works[i]),
                     [&results, &left, i](const std::exception_ptr& thrown, T result) {
                       if (thrown) std::rethrow_exception(thrown);
                       results[i].emplace(std::move(result));
                       --left;
                     });
    }
    context_.restart();
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (left > 0 && std::chrono::steady_clock::now() < give_up) {
      context_.run_one_for(std::chrono::seconds(1));
    }
    if (left != 0) throw std::runtime_error("hangs: a call did not come back in two minutes");
    std::vector<T> values;
    values.reserve(results.size());
    for (auto& result : results) values.push_back(std::move(*result));
    return values;
  }
  template <class T>
  T run(asio::awaitable<T> work) {
    std::vector<asio::awaitable<T>> works;
    works.push_back(std::move(work));
    return std::move(run_all(std::move(works)).front());
  }
  asio::any_io_executor executor() { return context_.get_executor(); }

 private:
  asio::io_context context_{1};
};

}  // namespace plimsoll::kv
