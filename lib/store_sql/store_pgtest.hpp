#pragma once

#include <gmock/gmock.h>
#include <libpq-fe.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/infra.hpp"
#include "fixtures/postgres/client.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/copy.hpp"
#include "lib/store_sql/store.hpp"

namespace plimsoll::store {

/// A schema with the table, a loop with a connection and a copier, and a plain connection to count
/// by.
class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int number = 0;
    const auto server = fixtures::Infra::instance().postgres();
    ASSERT_TRUE(server) << server.error().message;
    auto schema = fixtures::Schema::create(*server, "store" + std::to_string(++number));
    ASSERT_TRUE(schema) << schema.error().message;
    schema_.emplace(std::move(*schema));
    auto sql = fixtures::Client::connect(schema_->dsn());
    ASSERT_TRUE(sql) << sql.error().message;
    sql_.emplace(std::move(*sql));
    auto store = Store::make(schema_->name());
    ASSERT_TRUE(store) << store.error().message;
    store_.emplace(std::move(*store));
    connection_ = connect();
    const auto installed = run(store_->install(*connection_));
    ASSERT_TRUE(installed) << installed.error().message;
  }

  std::unique_ptr<pg::Connection> connect() {
    auto connection = run(pg::Connection::connect(pg::Config(schema_->dsn())));
    if (!connection) throw std::runtime_error(connection.error().message);
    return std::move(*connection);
  }
  std::unique_ptr<pg::Copier> copier() {
    auto made = run(pg::Copier::connect(pg::Config(schema_->dsn())));
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
  }
  template <class T>
  std::vector<T> run_all(std::vector<asio::awaitable<T>> works) {
    std::vector<std::optional<T>> results(works.size());
    for (std::size_t i = 0; i < works.size(); ++i) {
      asio::co_spawn(loop_, std::move(works[i]), [&results, i](auto thrown, T result) {
        if (thrown) std::rethrow_exception(thrown);
        results[i].emplace(std::move(result));
      });
    }
    loop_.restart();
    loop_.run_for(std::chrono::minutes(2));
    std::vector<T> values;
    for (auto& result : results) {
      if (!result) throw std::runtime_error("hangs: a call did not come back in two minutes");
      values.push_back(std::move(*result));
    }
    return values;
  }
  template <class T>
  T run(asio::awaitable<T> work) {
    std::vector<asio::awaitable<T>> works;
    works.push_back(std::move(work));
    return std::move(run_all(std::move(works)).front());
  }
  /// The first value, by plain SQL.
  std::string sql(const std::string& text) {
    const auto rows = sql_->query(text);
    if (!rows) throw std::runtime_error(rows.error().message);
    return rows->empty() ? std::string() : rows->front().front();
  }

  std::optional<fixtures::Schema> schema_;
  std::optional<fixtures::Client> sql_;
  std::optional<Store> store_;
  asio::io_context loop_{1};
  std::unique_ptr<pg::Connection> connection_;
};

}  // namespace plimsoll::store
