#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fixtures/infra.hpp"
#include "fixtures/postgres/client.hpp"
#include "lib/core/result.hpp"

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
  Stock stock_;
  std::string body_;
};

}  // namespace plimsoll::bench
