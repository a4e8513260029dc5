#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "fixtures/infra.hpp"
#include "lib/pg/connection.hpp"
#include "lib/vault_crypto/store.hpp"
#include "lib/vault_crypto/store_schema.hpp"
#include "lib/vault_crypto/test_support.hpp"

namespace plimsoll::vault::testing {

/// Plain libpq, blocking: what the tests count and break, they do by this and not by the library.
class Plain {
 public:
  explicit Plain(const std::string& dsn) : connection_(PQconnectdb(dsn.c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
  }

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
class Client {
 public:
  explicit Client(const std::string& dsn) {
    pg::Config config;
    config.dsn = dsn;
    connection_ = must(run(pg::Connection::connect(std::move(config))));
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

/// A ring, its store and a connection: what one process, or one thread of it, has.
class Actor {
 public:
  Actor(const std::string& dsn, const KeyRing& ring, std::string name = "tester",
        bool audit_reads = true)
      : client_(dsn),
        name_(std::move(name)),
        store_(must(SecretStore::create(ring, audit_reads))) {}

  Result<std::uint64_t> add(const SecretName& secret, std::string_view plain) {
    return client_.run(store_.add(connection(), name_, secret, bytes_of(plain)));
  }
  Result<std::uint64_t> update(const SecretName& secret, std::uint64_t expected,
                               std::string_view plain) {
    return client_.run(store_.update(connection(), name_, secret, expected, bytes_of(plain)));
  }
  Result<void> remove(const SecretName& secret, std::uint64_t expected) {
    return client_.run(store_.remove(connection(), name_, secret, expected));
  }
  Result<std::string> read(const SecretName& secret) {
    auto read = client_.run(store_.read(connection(), name_, secret, out_));
    if (!read) return fail(read.error());
    return std::string(text_of(Bytes(out_).first(read->size)));
  }
  Result<void> register_key() {
    return client_.run(store_.register_current_key(connection(), name_));
  }
  Result<std::vector<SealedSecret>> load(const std::string& tenant) {
    return client_.run(store_.load(connection(), name_, tenant));
  }

  template <class T>
  T run(asio::awaitable<T> work) {
    return client_.run(std::move(work));
  }
  pg::Connection& connection() { return client_.connection(); }
  SecretStore& store() { return store_; }

 private:
  Client client_;
  std::string name_;
  SecretStore store_;
  Buffer out_ = Buffer(4096);
};

/// A schema with the tables, for one test; the ring holds version 1, which is registered.
class VaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int number = 0;
    const auto server = fixtures::Infra::instance().postgres();
    ASSERT_TRUE(server) << server.error().message;
    auto schema = fixtures::Schema::create(*server, fmt::format("vault{}", ++number));
    ASSERT_TRUE(schema) << schema.error().message;
    schema_ = std::make_unique<fixtures::Schema>(std::move(*schema));
    sql_ = std::make_unique<Plain>(dsn());
    sql_->rows(std::string(store_ddl()));
    must(actor().register_key());
  }
  void TearDown() override {
    actor_.reset();
    sql_.reset();
    schema_.reset();
  }

  const std::string& dsn() const { return schema_->dsn(); }
  Plain& sql() { return *sql_; }
  std::int64_t count(const std::string& query) { return sql_->number(query); }
  Actor& actor() {
    if (!actor_) actor_ = std::make_unique<Actor>(dsn(), *ring_);
    return *actor_;
  }
  /// Adds version `version` to the ring, not current yet.
  void add_key(std::uint32_t version) { must(ring_->add(master(version, version * 32))); }

  std::unique_ptr<KeyRing> ring_ = make_ring();

 private:
  std::unique_ptr<fixtures::Schema> schema_;
  std::unique_ptr<Plain> sql_;
  std::unique_ptr<Actor> actor_;
};

}  // namespace plimsoll::vault::testing
