#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/with_timeout.hpp"
#include "lib/redis/connection.hpp"
#include "lib/redis/reply_reader.hpp"

namespace plimsoll::redis {

using asio::ip::tcp;

/// One client of a fake server, seen from the server.
class Peer {
 public:
  explicit Peer(tcp::socket socket) : socket_(std::move(socket)) {}

  /// The next command's words; empty when the client is gone.
  asio::awaitable<std::vector<std::string>> command();
  /// False when the client is gone.
  asio::awaitable<bool> say(std::string bytes);
  /// Answers the log-in, of two commands unless told.
  asio::awaitable<void> let_in(int commands = 2);
  /// Sends RST in place of FIN.
  void reset() {
    socket_.set_option(asio::socket_base::linger(true, 0));
    socket_.close();
  }
  void close() { socket_.close(); }

 private:
  tcp::socket socket_;
  ReplyReader reader_{1UL << 30};
};

inline asio::awaitable<std::vector<std::string>> Peer::command() {
  std::vector<char> bytes(64UL << 10);
  for (;;) {
    auto next = reader_.next();
    if (next && *next) {
      std::vector<std::string> words;
      for (const auto& word : (*next)->elements()) words.emplace_back(word.text());
      co_return words;
    }
    const auto buffer = asio::buffer(bytes);
    const auto [error, got] = co_await socket_.async_read_some(buffer, kAsValue);
    if (error) co_return std::vector<std::string>{};
    (void)reader_.feed({bytes.data(), got});
  }
}

inline asio::awaitable<bool> Peer::say(std::string bytes) {
  const auto buffer = asio::buffer(bytes);
  const auto [error, sent] = co_await asio::async_write(socket_, buffer, kAsValue);
  co_return !error && sent == bytes.size();
}

inline asio::awaitable<void> Peer::let_in(int commands) {
  for (int i = 0; i < commands; ++i) {
    auto words = co_await command();
    if (words.empty()) co_return;
    co_await say("+OK\r\n");
  }
}

/// What a fake server does with its client number `n`, counted from 0. A plain function, so that
/// nothing is captured in a coroutine.
using Behaviour = asio::awaitable<void> (*)(Peer& peer, int n);

/// A port of 127.0.0.1 behind which one behaviour waits for clients, in the loop of the test.
class FakeServer {
 public:
  FakeServer(asio::io_context& loop, Behaviour behaviour)
      : acceptor_(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    port_ = acceptor_.local_endpoint().port();
    asio::co_spawn(loop, serve(acceptor_, behaviour), asio::detached);
  }
  [[nodiscard]] std::string url(const std::string& user = "") const {
    return "redis://" + user + "127.0.0.1:" + std::to_string(port_);
  }
  void stop() { acceptor_.close(); }

 private:
  static asio::awaitable<void> serve(tcp::acceptor& acceptor, Behaviour behaviour) {
    const auto executor = acceptor.get_executor();
    for (int n = 0;; ++n) {
      auto [error, socket] = co_await acceptor.async_accept(kAsValue);
      if (error) co_return;
      asio::co_spawn(executor, meet(std::move(socket), behaviour, n), asio::detached);
    }
  }
  static asio::awaitable<void> meet(tcp::socket socket, Behaviour behaviour, int n) {
    Peer peer(std::move(socket));
    co_await behaviour(peer, n);
  }

  tcp::acceptor acceptor_;
  unsigned short port_ = 0;
};

/// A loop, and coroutines run in it to their end.
class LoopTest : public ::testing::Test {
 public:
  /// Runs all until all are finished; the loop then stops where it is.
  template <class T>
  std::vector<T> run_all(std::vector<asio::awaitable<T>> works) {
    std::vector<std::optional<T>> results(works.size());
    std::size_t left = works.size();
    for (std::size_t i = 0; i < works.size(); ++i) {
      asio::co_spawn(loop_, std::move(works[i]),
                     [&results, &left, i](const std::exception_ptr& thrown, T result) {
                       if (thrown) std::rethrow_exception(thrown);
                       results[i].emplace(std::move(result));
                       --left;
                     });
    }
    loop_.restart();
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (left > 0 && std::chrono::steady_clock::now() < give_up) {
      loop_.run_one_for(std::chrono::seconds(1));
    }
    if (left != 0) throw std::runtime_error("hangs: a call did not come back in two minutes");
    std::vector<T> values;
    for (auto& result : results) values.push_back(std::move(*result));
    return values;
  }
  template <class T>
  T run(asio::awaitable<T> work) {
    std::vector<asio::awaitable<T>> works;
    works.push_back(std::move(work));
    return std::move(run_all(std::move(works)).front());
  }

  std::unique_ptr<Connection> connect(Config where) {
    auto connection = run(Connection::connect(std::move(where)));
    if (!connection) throw std::runtime_error(connection.error().message);
    return std::move(*connection);
  }

 protected:
  asio::io_context loop_{1};
};

}  // namespace plimsoll::redis
