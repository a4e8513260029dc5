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
#include "lib/rls_queue/schema.hpp"

namespace plimsoll::bench {

/// What the tables hold before a case. A tenant's name is its number, and so is the author of its
/// notes: other tools can draw it, and a row that another one wrote shows.
struct Shape {
  int tenants = 20;
  int each = 500;  ///< Notes of each tenant, with the ids 1 to `each`.
  rls::Protection protection{};
};

/// `seen` and `log`, where jobs write down what they saw and in which order they ran, and the
/// rights to do so. `schema` and `role` are quoted.
[[nodiscard]] std::string audit_ddl(const std::string& schema, const std::string& role);

/// Empties the tables and fills `notes`.
[[nodiscard]] std::string fill_sql(const std::string& schema, const Shape& shape);

/// A schema with the group's tables, a role that row-level security binds, and a plain blocking
/// connection to count by, which is not the library under test and sees every tenant.
class Stage {
 public:
  /// Errors: those of the fixtures and of SQL.
  [[nodiscard]] static Result<std::unique_ptr<Stage>> make(fixtures::Postgres server,
                                                           std::string_view suffix, Shape shape);

  [[nodiscard]] const fixtures::Postgres& server() const noexcept { return server_; }
  /// In quotes.
  [[nodiscard]] const std::string& schema() const noexcept { return quoted_; }
  [[nodiscard]] const std::string& role() const noexcept { return role_->name(); }
  /// For the jobs.
  [[nodiscard]] const pg::Config& connection() const noexcept { return connection_; }
  /// Puts a pooler before the jobs' connections. Errors: those of its dsn.
  [[nodiscard]] Result<void> go_through(fixtures::Pooler pooler);
  /// Processes whose work is the server's: none where they are not ours.
  [[nodiscard]] std::vector<int> server_pids() const;
  /// Connections of the pooler to the server on which an identity is set although no job runs. So
  /// many are held at once: where jobs had as many connections, all are looked at.
  [[nodiscard]] Result<std::int64_t> identities_behind_pooler(std::size_t connections) const;
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] Result<void> refill();

  [[nodiscard]] Result<void> run(const std::string& sql);
  /// The first column of the first row.
  [[nodiscard]] Result<std::int64_t> number(std::string_view sql);

 private:
  Stage() = default;

  fixtures::Postgres server_{};
  std::optional<fixtures::Schema> schema_;
  std::optional<fixtures::Role> role_;
  std::optional<fixtures::Client> sql_;
  std::optional<fixtures::Pooler> pooler_;
  pg::Config connection_;
  std::string quoted_;
  Shape shape_;
};

}  // namespace plimsoll::bench
