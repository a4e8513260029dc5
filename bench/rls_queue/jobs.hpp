#pragma once

#include <cstdint>
#include <string>

#include "lib/core/result.hpp"
#include "lib/load/runner.hpp"
#include "lib/rls_queue/queue.hpp"

namespace plimsoll::bench {

/// What the jobs of the group's cases say. The schema is in quotes. Nothing in the text names a
/// tenant: which rows a job reaches is the policies' doing.
[[nodiscard]] std::string read_sql(const std::string& schema);   ///< $1 id. (tenant, body)
[[nodiscard]] std::string write_sql(const std::string& schema);  ///< $1 id, $2 author. (tenant)
[[nodiscard]] std::string scan_sql(const std::string& schema);   ///< (how many, largest version)
[[nodiscard]] std::string look_sql(const std::string& schema);   ///< $1 as whom. Writes to `seen`.
[[nodiscard]] std::string log_sql(const std::string& schema);    ///< $1 tenant, $2 caller, $3 n.
inline constexpr const char* kFailingSql = "SELECT 1 / ($1::int - $1::int)";

/// Makes jobs of them for one schema.
class Jobs {
 public:
  /// `with_actor`: identities of four values.
  Jobs(const std::string& schema, bool with_actor);

  [[nodiscard]] rls::Identity identity(std::uint64_t tenant) const;
  [[nodiscard]] rls::Job read(std::uint64_t tenant, std::uint64_t id, std::uint64_t caller) const;
  [[nodiscard]] rls::Job write(std::uint64_t tenant, std::uint64_t id, std::uint64_t caller) const;
  [[nodiscard]] rls::Job scan(std::uint64_t tenant) const;
  [[nodiscard]] rls::Job look(std::uint64_t tenant, std::uint64_t caller) const;
  [[nodiscard]] rls::Job log(std::uint64_t tenant, std::uint64_t caller, std::uint64_t n) const;
  [[nodiscard]] rls::Job fail(std::uint64_t tenant, std::uint64_t caller) const;

 private:
  bool with_actor_;
  std::string read_;
  std::string write_;
  std::string scan_;
  std::string look_;
  std::string log_;
};

/// Rows of an answer to `read` or `write` that are not the tenant's.
[[nodiscard]] std::uint64_t foreign_rows(const rls::Answers& answers, std::uint64_t tenant);

}  // namespace plimsoll::bench
