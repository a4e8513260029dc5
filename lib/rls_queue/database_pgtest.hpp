#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <libpq-fe.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fixtures/infra.hpp"
#include "fixtures/pgbouncer/local.hpp"
#include "fixtures/pgbouncer/route.hpp"
#include "lib/rls_queue/queue.hpp"
#include "lib/rls_queue/schema.hpp"

namespace plimsoll::rls {

/// Plain libpq, blocking: what the tests count, they count by this and not by the library.
class Plain {
 public:
  explicit Plain(const std::string& dsn) : connection_(PQconnectdb(dsn.c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
  }

  /// The first value of each row, a line each. An error is thrown with its text.
  std::string text(const std::string& sql) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        PQexec(connection_.get(), sql.c_str()), PQclear);
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      throw std::runtime_error(sql + ": " + PQresultErrorMessage(result.get()));
    }
    std::string all;
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      all += row > 0 ? "\n" : "";
      all += PQgetvalue(result.get(), row, 0);
    }
    return all;
  }
  std::int64_t number(const std::string& sql) { return std::stoll(text(sql)); }
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
  struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  };
  std::unique_ptr<PGconn, Finish> connection_;
};

/// Coroutines on the test's own thread.
class Loop {
 public:
  asio::io_context& context() noexcept { return context_; }

  /// Starts all, and returns when they are finished. By exception when they hang.
  template <class T>
  std::vector<T> run_all(std::vector<asio::awaitable<T>> works) {
    std::vector<std::optional<T>> results(works.size());
    std::size_t left = works.size();
    for (std::size_t i = 0; i < works.size(); ++i) {
      asio::co_spawn(context_, std::move(works[i]),
                     [this, &results, &left, i](const std::exception_ptr& thrown, T result) {
                       if (thrown) std::rethrow_exception(thrown);
                       results[i].emplace(std::move(result));
                       if (--left == 0) context_.stop();
                     });
    }
    context_.restart();
    context_.run_for(std::chrono::minutes(4));
    if (left != 0) throw std::runtime_error("hangs: a call did not come back in four minutes");
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

 private:
  asio::io_context context_{1};
};

/// Counts that every test judges by, and the negative controls turn red.
inline constexpr std::string_view kForeignRows =
    "SELECT coalesce(sum(rows), 0)::bigint FROM seen WHERE saw_tenant <> as_tenant";
inline constexpr std::string_view kOutOfOrder =
    "SELECT count(*) FROM (SELECT n, lag(n) OVER (PARTITION BY tenant, caller ORDER BY seq) AS "
    "before FROM log) each WHERE n < before";

inline constexpr std::string_view kIdentityIsSet =
    "SELECT concat(current_setting('plimsoll.tenant', true), current_setting('plimsoll.user', "
    "true), current_setting('plimsoll.roles', true), current_setting('plimsoll.actor', true)) <> "
    "''";

/// A job writes down what it saw, and as whom it was submitted: not as whom the server took it.
inline constexpr std::string_view kLook =
    "INSERT INTO seen (as_tenant, saw_tenant, rows) SELECT $1, tenant, count(*) FROM notes GROUP "
    "BY "
    "tenant";
inline constexpr std::string_view kLog = "INSERT INTO log (tenant, caller, n) VALUES ($1, $2, $3)";

/// `notes` of three tenants a, b and c, with one, two and three rows; two tables without policies
/// to write down what happened; a role that may use them.
class RlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = fixtures::Infra::instance().postgres();
    ASSERT_TRUE(server) << server.error().message;
    build(*server, Protection{});
  }

  void build(const fixtures::Postgres& server, const Protection& protection) {
    static int number = 0;
    const auto suffix = fmt::format("rls_{}", ++number);
    server_ = server;
    sql_.reset();
    role_.reset();
    schema_.reset();
    auto schema = fixtures::Schema::create(server, suffix);
    if (!schema) throw std::runtime_error(schema.error().message);
    schema_.emplace(std::move(*schema));
    auto role = fixtures::Role::create(server, suffix, *schema_);
    if (!role) throw std::runtime_error(role.error().message);
    role_.emplace(std::move(*role));
    sql_ = std::make_unique<Plain>(schema_->dsn());
    sql(*ddl(schema_->name(), protection));
    sql(*grants(schema_->name(), role_->name()));
    sql("CREATE TABLE seen (as_tenant text, saw_tenant text, rows bigint);"
        "CREATE TABLE log (seq bigserial, tenant text, caller bigint, n bigint);"
        "INSERT INTO notes (tenant, id, body) SELECT t, n, 'of ' || t "
        "FROM (VALUES ('a', 1), ('b', 2), ('c', 3)) v (t, many), generate_series(1, many) n");
    sql(fmt::format("GRANT INSERT ON seen, log TO {0}; GRANT USAGE ON SEQUENCE log_seq_seq TO {0}",
                    role_->name()));
  }

  /// From now on `config` leads through a PgBouncer that has so many connections to the server.
  void start_pooler(int size) {
    fixtures::LocalPgbouncer::Options options;
    options.server_dsn = server_.dsn;
    options.default_pool_size = size;
    auto started = fixtures::LocalPgbouncer::start(std::move(options));
    if (!started) throw std::runtime_error(started.error().message);
    pooler_.emplace(std::move(*started));
    auto route = fixtures::SchemaRoute::create(fixtures::describe(*pooler_), *schema_);
    if (!route) throw std::runtime_error(route.error().message);
    route_.emplace(std::move(*route));
    pool_size_ = size;
  }
  /// Server connections of the pooler on which an identity is set between two jobs: all are held at
  /// once, so each is looked at.
  std::int64_t identities_behind_the_pooler() {
    std::vector<std::unique_ptr<Plain>> all;
    std::int64_t left = 0;
    for (int i = 0; i < pool_size_; ++i) {
      all.push_back(std::make_unique<Plain>(*role_->dsn_by(route_->dsn())));
      all.back()->text("BEGIN");
      left += all.back()->text(std::string(kIdentityIsSet)) == "t" ? 1 : 0;
    }
    return left;
  }

  void sql(const std::string& text) { sql_->text(text); }
  std::int64_t number(std::string_view query) { return sql_->number(std::string(query)); }
  Plain& plain() { return *sql_; }

  [[nodiscard]] Config config(Subject subject) const {
    Config made(pg::Config(route_ ? *role_->dsn_by(route_->dsn()) : role_->dsn()), subject);
    made.connection.pooled = route_.has_value();
    made.connections = 2;
    return made;
  }
  std::unique_ptr<Queue> open(Config how) {
    auto queue = loop_.run(Queue::open(std::move(how)));
    if (!queue) throw std::runtime_error(queue.error().message);
    return std::move(*queue);
  }
  std::unique_ptr<Queue> open(Config how, Statements statements) {
    auto queue = loop_.run(Queue::open(std::move(how), std::move(statements)));
    if (!queue) throw std::runtime_error(queue.error().message);
    return std::move(*queue);
  }
  Result<Answers> run(Queue& queue, Job job) { return loop_.run(queue.run(std::move(job))); }
  std::vector<Result<Answers>> run_all(Queue& queue, std::vector<Job> jobs) {
    std::vector<asio::awaitable<Result<Answers>>> works;
    for (auto& job : jobs) works.push_back(queue.run(std::move(job)));
    return loop_.run_all(std::move(works));
  }
  /// Connections on which an identity is set between two jobs. One that was killed and not missed
  /// yet holds none.
  std::int64_t identities_left(Queue& queue) {
    const auto answers = loop_.run(queue.inspect(pg::Query(std::string(kIdentityIsSet))));
    std::int64_t left = 0;
    for (const auto& rows : answers) {
      if (!rows && rows.error().code == Errc::kUnavailable) continue;
      if (!rows) throw std::runtime_error(rows.error().message);
      left += rows->text(0, 0) == "t" ? 1 : 0;
    }
    return left;
  }

  static Identity as(std::string tenant, const std::vector<std::string>& roles = {}) {
    return *Identity::make(std::move(tenant), "ann", roles);
  }
  static Job look(const std::string& tenant) {
    return {as(tenant), pg::Query(std::string(kLook), pg::params(tenant))};
  }
  static Job log(const std::string& tenant, std::uint64_t caller, int n) {
    return {as(tenant), pg::Query(std::string(kLog), pg::params(tenant, caller, n), "log"), caller};
  }
  /// The first column of the first statement, joined by commas; the error where there is one.
  static std::string column(const Result<Answers>& answers) {
    if (!answers) return answers.error().message;
    std::string all;
    for (std::size_t row = 0; row < answers->front().size(); ++row) {
      all += row > 0 ? "," : "";
      all += answers->front().text(row, 0);
    }
    return all;
  }

  Loop loop_;
  fixtures::Postgres server_;
  std::optional<fixtures::Schema> schema_;
  std::optional<fixtures::Role> role_;
  std::optional<fixtures::LocalPgbouncer> pooler_;
  std::optional<fixtures::SchemaRoute> route_;
  int pool_size_ = 0;
  std::unique_ptr<Plain> sql_;
};

/// What must hold however jobs share connections.
class EverySubject : public RlsTest, public ::testing::WithParamInterface<Subject> {
 protected:
  std::unique_ptr<Queue> queue() { return open(config(GetParam())); }
};

inline const auto kSubjects =
    ::testing::Values(Subject::kSerial, Subject::kPipelined, Subject::kPool);
inline std::string subject_name(const ::testing::TestParamInfo<Subject>& info) {
  return std::string(name(info.param));
}

}  // namespace plimsoll::rls
