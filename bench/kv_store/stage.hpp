#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/infra.hpp"
#include "lib/core/result.hpp"
#include "lib/kv_store/redis_store.hpp"
#include "lib/kv_store/statements.hpp"
#include "lib/kv_store/store.hpp"
#include "lib/redis/connection.hpp"

namespace plimsoll::bench {

namespace asio = boost::asio;

enum class Subject { kPostgres, kRedis };

/// "postgres" or "redis", as in the names of the cases.
[[nodiscard]] std::string_view name(Subject subject) noexcept;

/// What lies in the store before a case: the same keys for each tenant. A place is a number: tenant
/// times keys, plus key.
struct Stock {
  std::size_t tenants = 2;
  std::size_t keys = 1000;  ///< Of each tenant.
  std::size_t value = 32;   ///< Bytes of a value, at least 32.

  [[nodiscard]] std::size_t places() const noexcept { return tenants * keys; }
};

/// Names are digits, keys seven of them, since pgbench can draw nothing else.
inline constexpr std::size_t kFirstKey = 1'000'000;
[[nodiscard]] std::string tenant_of(const Stock& stock, std::size_t place);
[[nodiscard]] std::string key_of(const Stock& stock, std::size_t place);

/// The value of a place: whose it is in its own words (tenant/key/number/), then text that does not
/// compress, the same for all. So whoever reads another's entry can tell.
[[nodiscard]] std::string value_of(const Stock& stock, std::size_t place, std::int64_t number);
/// The number of a value; -1 where the value is not this place's, or of another length.
[[nodiscard]] std::int64_t number_in(const Stock& stock, std::size_t place, std::string_view value);

/// A store and the connection that it may need. Of the executor that it was opened on.
struct OpenStore {
  std::unique_ptr<redis::Connection> connection;
  std::unique_ptr<kv::Store> store;
};

/// What the server says of its entries, asked by plain SQL or plain commands under names made here:
/// nothing of it goes through the library under test.
struct Found {
  std::vector<kv::Version> versions;  ///< Of each place; kAbsent where there is no entry.
  std::int64_t others = 0;            ///< Entries that are at no place.
  std::int64_t misplaced = 0;         ///< Values that say that they belong elsewhere.
  std::int64_t numbers = 0;           ///< The sum of the values' numbers.
};

/// A schema, or keys of a Redis, with the group's data, and a plain connection to count by.
class Stage {
 public:
  /// Errors: those of the fixtures and of the server.
  [[nodiscard]] static Result<std::unique_ptr<Stage>> on(fixtures::Postgres server, Stock stock);
  [[nodiscard]] static Result<std::unique_ptr<Stage>> on(fixtures::Redis server, Stock stock);
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  [[nodiscard]] const Stock& stock() const noexcept { return stock_; }
  [[nodiscard]] virtual asio::awaitable<Result<OpenStore>> open(asio::any_io_executor executor) = 0;
  /// As it was at first, with numbers of 0.
  [[nodiscard]] virtual Result<void> refill() = 0;
  [[nodiscard]] virtual Result<Found> look() = 0;
  /// The dsn with the stage's schema, or the url. Holds a secret.
  [[nodiscard]] virtual const std::string& where() const noexcept = 0;
  /// 0 where the server is not ours.
  [[nodiscard]] virtual int server_pid() const noexcept = 0;

 protected:
  explicit Stage(Stock stock) noexcept : stock_(stock) {}

  Stock stock_;
};

/// The statements that fill the table of the search path. Also for other tools.
[[nodiscard]] std::string fill_sql(const Stock& stock);
/// A script that fills keys from ARGV[1] to ARGV[2]. KEYS: counter, index. ARGV, further: tenant,
/// what its entries begin with, body, bytes of a value.
[[nodiscard]] std::string fill_script();
/// The text at the end of a value.
[[nodiscard]] std::string body_of(std::size_t bytes);

}  // namespace plimsoll::bench
