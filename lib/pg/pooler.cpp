#include "lib/pg/pooler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace plimsoll::pg {
namespace {

struct Rule {
  std::string_view part;  ///< Of the message.
  Errc code;
};

// PgBouncer's texts, 1.18 and later. The first that occurs decides.
constexpr std::array kRules{
    Rule{"query_wait_timeout", Errc::kBusy},
    Rule{"no more connections allowed", Errc::kBusy},
    Rule{"query_timeout", Errc::kTimeout},
    Rule{"no such database", Errc::kNotFound},
    Rule{"no such user", Errc::kRefused},
    Rule{"role \"", Errc::kRefused},
    Rule{"does not exist", Errc::kNotFound},  // The server's own words about a database.
    Rule{"authentication failed", Errc::kRefused},
    Rule{"unsupported startup parameter", Errc::kInvalidArgument},
    Rule{"server conn crashed", Errc::kUnavailable},
    Rule{"server login", Errc::kUnavailable},
    Rule{"server connect failed", Errc::kUnavailable},
    Rule{"connect failed", Errc::kUnavailable},
    Rule{"cannot connect to server", Errc::kUnavailable},
    Rule{"client_login_timeout", Errc::kUnavailable},
    Rule{"idle transaction timeout", Errc::kUnavailable},
    Rule{"client_idle_timeout", Errc::kUnavailable},
    Rule{"shutting down", Errc::kUnavailable},
    Rule{"shut down", Errc::kUnavailable},
    Rule{"is disabled", Errc::kUnavailable},
    Rule{"does not allow connections", Errc::kUnavailable},
    Rule{"database removed", Errc::kUnavailable},
};

const Rule* find_rule(const Error& error) {
  if (error.sqlstate != "08P01") return nullptr;
  const auto* rule = std::ranges::find_if(kRules, [&](const Rule& candidate) {
    return error.message.find(candidate.part) != std::string::npos;
  });
  return rule == kRules.end() ? nullptr : rule;
}

}  // namespace

Result<void> check_pooled(const Query& query) {
  if (query.name.empty()) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("the statement is named \"{}\", and behind a transaction pooler each "
                          "transaction may get a server connection that does not know the name; "
                          "send it without one, or connect to the server itself",
                          query.name));
}

Result<void> check_pooled(const PGconn* connection) {
  const char* const options = PQoptions(connection);
  if (options == nullptr || *options == '\0') return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("the connection string, or PGOPTIONS, sets options \"{}\", and a "
                          "transaction pooler does not pass them on; name the schema in each "
                          "statement, or give the pooler a database with a connect_query",
                          options));
}

bool is_of_pooler(const Error& error) { return find_rule(error) != nullptr; }

Error explain_pooler(Error error) {
  if (const Rule* const rule = find_rule(error)) error.code = rule->code;
  return error;
}

}  // namespace plimsoll::pg
