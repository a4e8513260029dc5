#pragma once

#include <string>
#include <string_view>

#include "lib/core/result.hpp"
#include "lib/kv_store/types.hpp"
#include "lib/pg/query.hpp"

namespace plimsoll::kv {

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

/// Versions that one written row reserves: so many writes of a key can be folded onto one row, and
/// each still has a version that nobody else has.
inline constexpr Version kVersionsOfAWrite = 1024;

/// The whole SQL of the group in one schema. Data, so that a test can take a protection out and see
/// the harm, and that other tools can run the very same. A ttl is in milliseconds, or NULL.
struct Statements {
  std::string ddl;       ///< Makes the table and the sequence; running it twice does nothing.
  Statement get;         ///< $1 tenant, $2 key. (value, version)
  Statement get_all;     ///< $1 tenant, $2 keys. (key, value, version)
  Statement set;         ///< $1 tenant, $2 key, $3 value, $4 ttl. (1, version)
  Statement set_many;    ///< The same as arrays, and $5 how many writes each stands for, in an
                         ///< order that all callers share. (ordinal, version)
  Statement swap;        ///< As set, and $5 the expected version. (version), or no row.
  Statement create;      ///< As set. (version), or no row where there is an entry.
  Statement erase;       ///< $1 tenant, $2 key. (whether it had not expired)
  Statement list;        ///< $1 tenant, $2 from, $3 end, $4 limit. (key, version)
  Statement sweep;       ///< $1 limit. How many: the command tag.
  Statement durability;  ///< (fsync, synchronous_commit)
};

/// Errors: as pg::quoted_identifier.
[[nodiscard]] Result<Statements> statements_for(std::string_view schema,
                                                Prepared prepared = Prepared::kOnce);

}  // namespace plimsoll::kv
