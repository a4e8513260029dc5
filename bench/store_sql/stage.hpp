#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/infra.hpp"
#include "fixtures/postgres/client.hpp"
#include "lib/core/result.hpp"
#include "lib/pg/connection.hpp"

namespace plimsoll::bench {

/// What the table holds before a case: ids from 1 on, amounts of 0, bodies of one length.
struct Stock {
  std::int64_t items = 10'000;
  std::size_t body = 100;  ///< Bytes.
};

/// Empties the table of the search path and fills it; the next id is behind the last.
[[nodiscard]] std::string fill_sql(const Stock& stock);

/// A schema with the group's table and stock, and a plain blocking connection to count by, which is
/// not the library under test.
class Stage {
 public:
  /// Errors: those of the fixtures and of SQL.
  [[nodiscard]] static Result<std::unique_ptr<Stage>> make(fixtures::Postgres server,
                                                           std::string_view suffix, Stock stock);

  [[nodiscard]] const fixtures::Postgres& server() const noexcept { return server_; }
  [[nodiscard]] const std::string& schema() const noexcept { return schema_->name(); }
  [[nodiscard]] const std::string& dsn() const noexcept { return schema_->dsn(); }
  [[nodiscard]] const Stock& stock() const noexcept { return stock_; }
  /// A body of the stock's length.
  [[nodiscard]] const std::string& body() const noexcept { return body_; }
  /// For the callers: through the schema's search path, or through a pooler, where nothing may be
  /// prepared.
  [[nodiscard]] const pg::Config& connection() const noexcept { return connection_; }
  void go_through(fixtures::Pooler pooler);
  /// Processes whose work is the server's: none where they are not ours.
  [[nodiscard]] std::vector<int> server_pids() const;
  /// Empties the table and fills it anew.
  [[nodiscard]] Result<void> refill();

  [[nodiscard]] Result<void> run(const std::string& sql);
  /// The first column of the first row.
  [[nodiscard]] Result<std::int64_t> number(const std::string& sql);

 private:
  Stage() = default;

  fixtures::Postgres server_{};
  std::optional<fixtures::Schema> schema_;
  std::optional<fixtures::Client> sql_;
  pg::Config connection_;
  int pooler_pid_ = 0;
  Stock stock_;
  std::string body_;
};

}  // namespace plimsoll::bench
