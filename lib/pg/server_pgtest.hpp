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
#include "lib/pg/connection.hpp"

namespace plimsoll::pg {

/// Blocking libpq: what the tests see of the server, they see by this and not by the library.
class Plain {
 public:
  explicit Plain(const std::string& dsn) : connection_(PQconnectdb(dsn.c_str()), &PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
  }

  /// The first value; empty when there is none.
  std::string text(const std::string& sql) {
    const Rows rows(PQexec(connection_.get(), sql.c_str()));
    if (*PQerrorMessage(connection_.get()) != '\0') {
      throw std::runtime_error(sql + ": " + PQerrorMessage(connection_.get()));
    }
    return std::string(rows.text(0, 0));
  }
  /// True once the condition holds; false when it did not within a minute.
  bool becomes_true(const std::string& condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < give_up) {
      if (text("SELECT " + condition) == "t") return true;
      text("SELECT pg_sleep(0.01)");
    }
    return false;
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

/// A schema of its own, a loop, and a plain connection beside it.
class ServerTest : public ::testing::Test {
 public:
  void SetUp() override {
    static int number = 0;
    auto server = fixtures::Infra::instance().postgres();
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    auto schema = fixtures::Schema::create(server_, "pg" + std::to_string(++number));
    ASSERT_TRUE(schema) << schema.error().message;
    schema_.emplace(std::move(*schema));
    plain_ = std::make_unique<Plain>(schema_->dsn());
  }

  [[nodiscard]] Config config() const { return Config(schema_->dsn()); }
  Plain& plain() { return *plain_; }

  /// Runs one after the other on this thread until all are finished.
  template <class T>
  std::vector<T> run_all(std::vector<asio::awaitable<T>> works) {
    std::vector<std::optional<T>> results(works.size());
    std::size_t left = works.size();
    for (std::size_t i = 0; i < works.size(); ++i) {
      asio::co_spawn(loop_, std::move(works[i]), [&results, &left, i](auto thrown, T result) {
        if (thrown) std::rethrow_exception(thrown);
        results[i].emplace(std::move(result));
        --left;
      });
    }
    loop_.restart();
    loop_.run_for(std::chrono::minutes(2));
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

  std::unique_ptr<Connection> connect() { return connect(config()); }
  std::unique_ptr<Connection> connect(Config where) {
    auto connection = run(Connection::connect(std::move(where)));
    if (!connection) throw std::runtime_error(connection.error().message);
    return std::move(*connection);
  }
  /// A condition for `Plain::becomes_true`: this connection executes a statement or waits in one.
  static std::string is_busy(const Connection& connection) {
    return "EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND pid = " +
           std::to_string(connection.backend_pid()) + ")";
  }

  fixtures::Postgres server_;
  std::optional<fixtures::Schema> schema_;
  std::unique_ptr<Plain> plain_;
  asio::io_context loop_{1};
};

}  // namespace plimsoll::pg
