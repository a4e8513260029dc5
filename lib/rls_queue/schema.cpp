#include "lib/rls_queue/schema.hpp"

#include <fmt/format.h>

#include "lib/rls_queue/statements.hpp"

namespace plimsoll::rls {
namespace {

constexpr std::size_t kMaxNameBytes = 63;

// "C" compares tenants as bytes, which is also what makes = on them leakproof, so that the index
// serves under row-level security. Half of a page is free, so that a new version of a row stays in
// its page.
constexpr std::string_view kTable = R"sql(
CREATE TABLE {schema}.notes (
  id      bigint  NOT NULL,
  version bigint  NOT NULL DEFAULT 0,
  gate    integer,
  tenant  text    COLLATE "C" NOT NULL CHECK (tenant <> ''),
  author  text    COLLATE "C" DEFAULT {user},
  body    text    NOT NULL,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 50);
)sql";

constexpr std::string_view kFirstPolicy = R"sql(
CREATE POLICY own_tenant ON {schema}.notes USING (tenant = {tenant}) WITH CHECK (tenant = {tenant});
)sql";

constexpr std::string_view kGatePolicy = R"sql(
CREATE POLICY gate_{number} ON {schema}.notes AS RESTRICTIVE
  USING (gate IS DISTINCT FROM {number} OR 'gate_{number}' = ANY ({roles}::text[]));
)sql";

}  // namespace

Result<std::string> quoted_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes || name.find('\0') != std::string_view::npos) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("rls_queue: a name of 1 to {} bytes without NUL is needed, this one has "
                    "{}",
                    kMaxNameBytes, name.size()));
  }
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

Result<std::string> ddl(std::string_view schema, const Protection& protection,
                        std::string_view prefix) {
  const auto quoted = quoted_name(schema);
  if (!quoted) return fail(quoted.error());
  const auto settings = statements_for({std::string(prefix), false});
  if (!settings) return fail(settings.error());
  if (protection.policies > kMaxPolicies) {
    return fail(Errc::kInvalidArgument,
                fmt::format("rls_queue: {} policies, at most {} are allowed", protection.policies,
                            kMaxPolicies));
  }
  const auto tenant = identity_sql(prefix, "tenant", protection.once);
  const auto roles = identity_sql(prefix, "roles", protection.once);
  // A default is evaluated once a row; a sub-select may not stand there.
  const auto user = identity_sql(prefix, "user", false);
  std::string all = fmt::format(kTable, fmt::arg("schema", *quoted), fmt::arg("user", user));
  if (protection.policies > 0) {
    all += fmt::format(kFirstPolicy, fmt::arg("schema", *quoted), fmt::arg("tenant", tenant));
  }
  for (std::size_t number = 2; number <= protection.policies; ++number) {
    all += fmt::format(kGatePolicy, fmt::arg("schema", *quoted), fmt::arg("number", number),
                       fmt::arg("roles", roles));
  }
  if (protection.enabled) {
    all += fmt::format("ALTER TABLE {}.notes ENABLE ROW LEVEL SECURITY;\n", *quoted);
  }
  if (protection.forced) {
    all += fmt::format("ALTER TABLE {}.notes FORCE ROW LEVEL SECURITY;\n", *quoted);
  }
  return all;
}

Result<std::string> grants(std::string_view schema, std::string_view role) {
  const auto quoted_schema = quoted_name(schema);
  if (!quoted_schema) return fail(quoted_schema.error());
  const auto quoted_role = quoted_name(role);
  if (!quoted_role) return fail(quoted_role.error());
  return fmt::format(
      "GRANT USAGE ON SCHEMA {0} TO {1};\n"
      "GRANT SELECT, INSERT, UPDATE, DELETE ON {0}.notes TO {1};\n",
      *quoted_schema, *quoted_role);
}

}  // namespace plimsoll::rls
