#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fixtures/infra.hpp"
#include "lib/lease_claims/claimer.hpp"
#include "lib/lease_claims/schema.hpp"
#include "lib/pg/connection.hpp"

namespace plimsoll::lease {

inline constexpr std::chrono::milliseconds kLong{600'000};  ///< A ttl that no test outlives.
inline constexpr std::chrono::milliseconds kShort{60};      ///< A ttl that a test waits for.

/// Plain libpq, blocking: what the tests count, they count by this and not by the library. Fails by
/// exception, so that it can be used in a child process, too.
class Plain {
 public:
  explicit Plain(const std::string& dsn) : connection_(PQconnectdb(dsn.c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
  }

  /// All rows; a NULL is "".
  std::vector<std::vector<std::string>> rows(const std::string& sql) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        PQexec(connection_.get(), sql.c_str()), PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      throw std::runtime_error(sql + ": " + PQresultErrorMessage(result.get()));
    }
    std::vector<std::vector<std::string>> all;
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      all.emplace_back();
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        all.back().emplace_back(PQgetvalue(result.get(), row, column));
      }
    }
    return all;
  }
  std::string text(const std::string& sql) {
    const auto all = rows(sql);
    return all.empty() ? std::string{} : all.front().front();
  }
  std::int64_t number(const std::string& sql) { return std::stoll(text(sql)); }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  std::unique_ptr<PGconn, Finish> connection_;
};

/// One connection of the library on a loop of its own, driven call by call from a plain function.
class Worker {
 public:
  explicit Worker(const std::string& dsn) {
    pg::Config config;
    config.dsn = dsn;
    auto connection = run(pg::Connection::connect(std::move(config)));
    if (!connection) throw std::runtime_error(connection.error().message);
    connection_ = std::move(*connection);
  }

  template <class T>
  T run(asio::awaitable<T> work) {
    auto future = asio::co_spawn(loop_, std::move(work), asio::use_future);
    loop_.restart();
    loop_.run();
    return future.get();
  }
  pg::Connection& connection() { return *connection_; }

 private:
  asio::io_context loop_;
  std::unique_ptr<pg::Connection> connection_;
};

/// A schema with the tables, for one test.
class LeaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int number = 0;
    const auto server = fixtures::Infra::instance().postgres();
    ASSERT_TRUE(server) << server.error().message;
    auto schema = fixtures::Schema::create(*server, fmt::format("lease_{}", ++number));
    ASSERT_TRUE(schema) << schema.error().message;
    owned_schema_.emplace(std::move(*schema));
    schema_ = owned_schema_->name();
    dsn_ = owned_schema_->dsn();
    sql_ = std::make_unique<Plain>(dsn_);
    sql_->rows(*ddl(schema_));
  }

  Plain& sql() { return *sql_; }
  std::int64_t count(const std::string& query) { return sql_->number(query); }
  Claimer claimer(Subject subject = Subject::kSkipLockedBatch) const {
    return *Claimer::make(subject, schema_);
  }
  /// `schedules` of one tenant, numbered from 1, due a minute ago and every `period` seconds.
  void add_due(std::string_view tenant, int schedules, int period = 86'400) {
    sql_->rows(
        fmt::format("INSERT INTO schedules (tenant, schedule, next_fire, next_local, period_s) "
                    "SELECT '{}', n, at, at AT TIME ZONE 'UTC', {} FROM generate_series(1, {}) n, "
                    "(SELECT date_trunc('second', now() - interval '1 minute') AS at) moment",
                    tenant, period, schedules));
  }

  std::string dsn_;  // Its search path is the test's schema.
  std::string schema_;

 private:
  std::optional<fixtures::Schema> owned_schema_;
  std::unique_ptr<Plain> sql_;
};

inline ClaimRequest request(std::string tenant, std::size_t limit = 1,
                            std::chrono::milliseconds ttl = kLong, std::string owner = "worker") {
  return ClaimRequest{std::move(tenant), std::move(owner), ttl, limit};
}

/// `statement` with `protection` replaced: what the negative controls run. The name changes with
/// it.
inline Statement with(const Statement& statement, std::string_view protection,
                      std::string_view replacement = "") {
  std::string sql = statement.sql;
  std::size_t found = 0;
  for (std::size_t at = sql.find(protection); at != std::string::npos;
       at = sql.find(protection, at)) {
    sql.replace(at, protection.size(), replacement);
    at += replacement.size();
    ++found;
  }
  if (found == 0) throw std::runtime_error(fmt::format("{} is not in: {}", protection, sql));
  return named("control", std::move(sql));
}

}  // namespace plimsoll::lease
