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

/// What the tables hold before a case.
struct Rows {
  enum class Due {
    kAll,     ///< Every row has been due for years and stays so: a fire moves it by a minute.
    kSpread,  ///< Half of the rows are due, half in the hour to come; a fire moves a row there.
  };
  int tenants = 20;
  int each = 120;  ///< Rows of each tenant.
  Due due = Due::kAll;
};

/// Empties the tables of the search path and fills them.
[[nodiscard]] std::string fill_sql(const Rows& rows);

/// A schema with the group's tables and rows, and a plain blocking connection to count by, which
/// is not the library under test.
class Stage {
 public:
  /// Errors: those of the fixtures and of SQL.
  [[nodiscard]] static Result<std::unique_ptr<Stage>> make(fixtures::Postgres server,
                                                           std::string_view suffix, Rows rows);

  [[nodiscard]] const fixtures::Postgres& server() const noexcept { return server_; }
  [[nodiscard]] const std::string& schema() const noexcept { return schema_->name(); }
  [[nodiscard]] const std::string& dsn() const noexcept { return schema_->dsn(); }
  [[nodiscard]] const Rows& rows() const noexcept { return rows_; }
  /// Empties the tables and fills them anew.
  [[nodiscard]] Result<void> refill();
  /// The name of one of the tenants.
  [[nodiscard]] std::string tenant(std::uint64_t number) const;

  [[nodiscard]] Result<void> run(const std::string& sql);
  /// The first column of the first row.
  [[nodiscard]] Result<std::int64_t> number(const std::string& sql);

 private:
  Stage() = default;

  fixtures::Postgres server_{};
  std::optional<fixtures::Schema> schema_;
  std::optional<fixtures::Client> sql_;
  Rows rows_;
};

}  // namespace plimsoll::bench
