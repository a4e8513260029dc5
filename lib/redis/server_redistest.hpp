#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fixtures/infra.hpp"
#include "fixtures/redis/client.hpp"
#include "fixtures/redis/key_prefix.hpp"
#include "lib/redis/connection.hpp"
#include "lib/redis/fake_server_test.hpp"

namespace plimsoll::redis {

/// Blocking hiredis: what the tests see of the server, they see by this and not by the library.
class Plain {
 public:
  explicit Plain(const std::string& url) : client_(open(url)) {}

  /// Text, or a number as digits; empty for nil.
  std::string text(const std::vector<std::string>& words) {
    const auto answer = client_.command(words);
    if (!answer) throw std::runtime_error(answer.error().message);
    return answer->kind == fixtures::RedisAnswer::Kind::kInteger ? std::to_string(answer->integer)
                                                                 : answer->text;
  }

 private:
  static fixtures::RedisClient open(const std::string& url) {
    auto client = fixtures::RedisClient::connect(url);
    if (!client) throw std::runtime_error(client.error().message);
    return std::move(*client);
  }
  fixtures::RedisClient client_;
};

/// Keys of its own, a loop, and a plain connection beside it.
class ServerTest : public LoopTest {
 public:
  void SetUp() override {
    static int number = 0;
    auto server = fixtures::Infra::instance().redis();
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    auto prefix = fixtures::KeyPrefix::create(server_, "redis" + std::to_string(++number));
    ASSERT_TRUE(prefix) << prefix.error().message;
    prefix_.emplace(std::move(*prefix));
    plain_ = std::make_unique<Plain>(server_.url);
  }

  [[nodiscard]] Config config() const { return Config(server_.url); }
  [[nodiscard]] std::string key(const std::string& rest) const { return prefix_->key(rest); }
  Plain& plain() { return *plain_; }
  using LoopTest::connect;
  std::unique_ptr<Connection> connect() { return connect(config()); }

 protected:
  fixtures::Redis server_;
  std::optional<fixtures::KeyPrefix> prefix_;
  std::unique_ptr<Plain> plain_;
};

}  // namespace plimsoll::redis
