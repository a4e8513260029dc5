#include "lib/pg/statement_names.hpp"

#include <fmt/format.h>

namespace plimsoll::pg {

Result<StatementNames::Entry*> StatementNames::use(const Query& query) {
  auto& entry = entries_[query.name];
  const bool is_free = entry.state == State::kUnknown && entry.users == 0;
  if (is_free) {
    entry.sql = query.sql;
  } else if (entry.sql != query.sql) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the name \"{}\" already stands for another statement on this "
                            "connection; give each text a name of its own",
                            query.name));
  }
  ++entry.users;
  return &entry;
}

}  // namespace plimsoll::pg
