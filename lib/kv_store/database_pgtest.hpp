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

#include "fixtures/infra.hpp"
#include "fixtures/postgres/client.hpp"
#include "lib/kv_store/loop_test.hpp"
#include "lib/kv_store/postgres_store.hpp"

namespace plimsoll::kv {

/// A schema of its own, and a plain connection: what the tests see of the server, they see by this
/// and not by the library. Fails by exception.
class Database {
 public:
  Database() {
    static int number = 0;
    auto server = fixtures::Infra::instance().postgres();
    if (!server) throw std::runtime_error(server.error().message);
    auto schema = fixtures::Schema::create(*server, "kv" + std::to_string(++number));
    if (!schema) throw std::runtime_error(schema.error().message);
    schema_.emplace(std::move(*schema));
    auto sql = fixtures::Client::connect(schema_->dsn());
    if (!sql) throw std::runtime_error(sql.error().message);
    sql_.emplace(std::move(*sql));
  }

  [[nodiscard]] const std::string& schema() const { return schema_->name(); }
  [[nodiscard]] const std::string& dsn() const { return schema_->dsn(); }
  [[nodiscard]] PostgresConfig config() const {
    PostgresConfig config;
    config.connection = pg::Config(dsn());
    config.schema = schema();
    return config;
  }
  /// The first value.
  std::string sql(const std::string& text) {
    const auto rows = sql_->query(text);
    if (!rows) throw std::runtime_error(text + ": " + rows.error().message);
    return rows->empty() || rows->front().empty() ? std::string() : rows->front().front();
  }
  /// True once the condition holds; false when it did not within a minute.
  bool becomes_true(const std::string& condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < give_up) {
      if (sql("SELECT " + condition) == "t") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

 private:
  std::optional<fixtures::Schema> schema_;
  std::optional<fixtures::Client> sql_;
};

/// A database with the table, and stores in it.
class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = make();
    const auto installed = run(store_->install());
    ASSERT_TRUE(installed) << installed.error().message;
  }
  std::unique_ptr<PostgresStore> make() { return make(db_.config()); }
  std::unique_ptr<PostgresStore> make(PostgresConfig config) {
    auto made = PostgresStore::make(loop_.executor(), std::move(config));
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
  }
  std::unique_ptr<PostgresStore> make(Statements statements) {
    auto made = PostgresStore::make(loop_.executor(), db_.config(), std::move(statements));
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
  }
  template <class T>
  T run(asio::awaitable<T> work) {
    return loop_.run(std::move(work));
  }
  template <class T>
  T good(asio::awaitable<Result<T>> work) {
    auto result = run(std::move(work));
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
  }
  [[nodiscard]] Statements statements() const { return *statements_for(db_.schema()); }
  /// `text` with each `part` replaced; throws where there is none.
  static std::string with(std::string text, std::string_view part, std::string_view by) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + by.size())) {
      text.replace(at, part.size(), by);
      ++found;
    }
    if (found == 0) throw std::runtime_error("not there: " + std::string(part));
    return text;
  }
  static Statement with(const Statement& statement, std::string_view part, std::string_view by) {
    return {with(statement.sql, part, by), {}};
  }

  Loop loop_;
  Database db_;
  std::unique_ptr<PostgresStore> store_;
};

}  // namespace plimsoll::kv
