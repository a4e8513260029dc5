#include "bench/rls_queue/jobs.hpp"

#include <fmt/format.h>

namespace plimsoll::bench {

std::string read_sql(const std::string& schema) {
  return fmt::format("SELECT tenant, body FROM {}.notes WHERE id = $1", schema);
}

std::string write_sql(const std::string& schema) {
  return fmt::format(
      "UPDATE {}.notes SET version = version + 1, author = $2 WHERE id = $1 RETURNING tenant",
      schema);
}

std::string scan_sql(const std::string& schema) {
  return fmt::format("SELECT count(*), max(version) FROM {}.notes", schema);
}

std::string look_sql(const std::string& schema) {
  return fmt::format(
      "INSERT INTO {0}.seen (as_tenant, saw_tenant, rows) SELECT $1, tenant, count(*) FROM "
      "{0}.notes "
      "GROUP BY tenant",
      schema);
}

std::string log_sql(const std::string& schema) {
  return fmt::format("INSERT INTO {}.log (tenant, caller, n) VALUES ($1, $2, $3)", schema);
}

Jobs::Jobs(const std::string& schema, bool with_actor)
    : with_actor_(with_actor),
      read_(read_sql(schema)),
      write_(write_sql(schema)),
      scan_(scan_sql(schema)),
      look_(look_sql(schema)),
      log_(log_sql(schema)) {}

rls::Identity Jobs::identity(std::uint64_t tenant) const {
  static const std::vector<std::string> roles{"reader", "writer"};
  return *rls::Identity::make(std::to_string(tenant), "ann", roles, with_actor_ ? "bob" : "");
}

rls::Job Jobs::read(std::uint64_t tenant, std::uint64_t id, std::uint64_t caller) const {
  return {identity(tenant), pg::Query(read_, pg::params(id), "read"), caller};
}

rls::Job Jobs::write(std::uint64_t tenant, std::uint64_t id, std::uint64_t caller) const {
  return {identity(tenant), pg::Query(write_, pg::params(id, tenant), "write"), caller};
}

rls::Job Jobs::scan(std::uint64_t tenant) const {
  return {identity(tenant), pg::Query(scan_, {}, "scan")};
}

rls::Job Jobs::look(std::uint64_t tenant, std::uint64_t caller) const {
  return {identity(tenant), pg::Query(look_, pg::params(tenant), "look"), caller};
}

rls::Job Jobs::log(std::uint64_t tenant, std::uint64_t caller, std::uint64_t n) const {
  return {identity(tenant), pg::Query(log_, pg::params(tenant, caller, n), "log"), caller};
}

rls::Job Jobs::fail(std::uint64_t tenant, std::uint64_t caller) const {
  return {identity(tenant), pg::Query(kFailingSql, pg::params(tenant), "fail"), caller};
}

std::uint64_t foreign_rows(const rls::Answers& answers, std::uint64_t tenant) {
  const auto own = std::to_string(tenant);
  std::uint64_t foreign = 0;
  for (const auto& rows : answers) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      foreign += rows.text(row, 0) == own ? 0 : 1;
    }
  }
  return foreign;
}

}  // namespace plimsoll::bench
