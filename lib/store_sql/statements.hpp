#pragma once

#include <string>
#include <string_view>

#include "lib/core/result.hpp"
#include "lib/pg/query.hpp"

namespace plimsoll::store {

/// SQL and the name under which a connection prepares it; no name: parsed each time, which a
/// transaction pooler needs.
struct Statement {
  std::string sql;
  std::string name;

  [[nodiscard]] pg::Query with(pg::Params params) const { return {sql, std::move(params), name}; }
};

/// How statements are sent.
enum class Prepared {
  kOnce,   ///< By name, once a connection.
  kNever,  ///< Parsed each time.
};

/// One encoding of COPY.
struct CopyStatements {
  std::string in;   ///< id, amount, body.
  std::string out;  ///< The same, in the order of ids.
};

/// The whole SQL of the group in one schema. Data, so that a test can take a protection out and see
/// the harm, and that other tools can run the very same.
struct Statements {
  std::string ddl;   ///< Makes the table; running it twice does nothing.
  Statement insert;  ///< $1 amount, $2 body. (id)
  Statement update;  ///< $1 id, $2 what is added to the amount.
  Statement read;    ///< $1 id. (amount, body)
  CopyStatements binary;
  CopyStatements text;
};

/// Errors: as pg::quoted_identifier.
[[nodiscard]] Result<Statements> statements_for(std::string_view schema,
                                                Prepared prepared = Prepared::kOnce);

}  // namespace plimsoll::store
