#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/infra.hpp"
#include "fixtures/redis/client.hpp"
#include "fixtures/redis/key_prefix.hpp"
#include "lib/kv_store/loop_test.hpp"
#include "lib/kv_store/redis_store.hpp"
#include "lib/redis/connection.hpp"

namespace plimsoll::kv {

/// Blocking hiredis: what the tests see of the server, they see by this and not by the library.
class PlainRedis {
 public:
  explicit PlainRedis(const std::string& url) : client_(open(url)) {}

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

/// Keys of its own on the shared server. Fails by exception.
class Keyspace {
 public:
  Keyspace() {
    static int number = 0;
    auto server = fixtures::Infra::instance().redis();
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
    auto prefix = fixtures::KeyPrefix::create(server_, "kv" + std::to_string(++number));
    if (!prefix) throw std::runtime_error(prefix.error().message);
    prefix_.emplace(std::move(*prefix));
  }
  [[nodiscard]] const std::string& url() const { return server_.url; }
  [[nodiscard]] const std::string& prefix() const { return prefix_->text(); }

 private:
  fixtures::Redis server_{};
  std::optional<fixtures::KeyPrefix> prefix_;
};

/// A connection and a store on it. Fails by exception.
class Opened {
 public:
  Opened(Loop& loop, const std::string& url, RedisConfig config,
         RedisScripts scripts = redis_scripts()) {
    auto connection = loop.run(redis::Connection::connect(redis::Config(url)));
    if (!connection) throw std::runtime_error(connection.error().message);
    connection_ = std::move(*connection);
    auto store = loop.run(RedisStore::open(*connection_, std::move(config), std::move(scripts)));
    if (!store) throw std::runtime_error(store.error().message);
    store_ = std::move(*store);
  }
  redis::Connection& connection() { return *connection_; }
  RedisStore& store() { return *store_; }

 private:
  std::unique_ptr<redis::Connection> connection_;
  std::unique_ptr<RedisStore> store_;
};

}  // namespace plimsoll::kv
